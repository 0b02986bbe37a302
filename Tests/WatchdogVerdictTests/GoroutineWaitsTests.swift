// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogVerdict

@Suite("What the goroutines of a Go program wait for")
struct GoroutineWaitsTests {
    private static func frames(_ calls: [String]) -> [Frame] {
        calls.enumerated().map { line, call in
            let isOwn = call.hasPrefix("main.")
            return Frame(
                address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: call, symbolLocation: 4,
                sourceFile: isOwn ? "/src/bank.go" : "/usr/lib/go/src/x.go", sourceLine: isOwn ? 10 + line : 1,
                trust: .cfi)
        }
    }

    private static let lock = ["runtime.gopark", "runtime.semacquire1", "sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock"]
    private static let accept = ["runtime.gopark", "internal/poll.(*FD).Accept", "net.(*TCPListener).Accept"]

    private static func goroutine(
        _ id: Int, _ state: String, _ calls: [String], isActive: Bool = false, others: [Int] = []
    ) -> CapturedGoroutine {
        CapturedGoroutine(id: id, state: state, isActive: isActive, others: others, frames: frames(calls))
    }

    private static let main = goroutine(1, "sync.Mutex.Lock", lock + ["main.transfer", "main.main"])
    private static let other = goroutine(20, "sync.Mutex.Lock", lock + ["main.audit"])
    private static let server = goroutine(19, "IO wait", accept + ["net/http.(*Server).Serve"])

    private static func finding(
        _ shown: [CapturedGoroutine], isComplete: Bool = true, active: Int? = nil, threads: [CapturedThread] = []
    ) -> Finding? {
        var capture = CapturedProcess(method: .ptrace, threads: threads, images: [])
        let count = shown.filter(\.isActive).count
        capture.goroutines = CapturedGoroutines(
            count: shown.count + 4, activeCount: active ?? count, isComplete: isComplete, shown: shown)
        return GoroutineWaits(in: capture, HangEvidence(processorCount: 2))?.finding(mainThread: 7)
    }

    @Test("Two that wait for locks are a probable deadlock, also in a server")
    func deadlock() throws {
        for idle in [[], [Self.server]] {
            let found = try #require(Self.finding([Self.main, Self.other] + idle))
            #expect(found.kind == .goroutineDeadlock)
            #expect(
                found.text
                    == "Probably a deadlock: the main goroutine in main.transfer (bank.go:14) and goroutine 20 in "
                    + "main.audit (bank.go:14) wait for locks (sync.Mutex), and no other goroutine runs")
        }
    }

    @Test("There is no deadlock while a goroutine may still release a lock")
    func released() {
        let others = [
            Self.goroutine(30, "running", [], isActive: true),
            Self.goroutine(30, "syscall", ["os.(*File).Read"], isActive: true),
            Self.goroutine(30, "sleep", ["runtime.gopark", "time.Sleep", "main.retry"]),
            Self.goroutine(30, "select", ["runtime.gopark", "main.loop"]),
            Self.goroutine(30, "IO wait", ["runtime.gopark", "net.(*conn).Read", "main.fetch"]),
        ]
        for last in others {
            #expect(Self.finding([Self.main, Self.other, last])?.kind == .goroutineWait, "\(last)")
        }
        #expect(Self.finding([Self.main, Self.other], isComplete: false)?.kind == .goroutineWait)
        #expect(Self.finding([Self.main, Self.other], active: 1)?.kind == .goroutineWait)
        #expect(
            Self.finding([Self.main, Self.server])?.text
                == "Main goroutine waits for a sync.Mutex in main.transfer (bank.go:14), and no goroutine runs that could "
                + "release it")
    }

    @Test("The goroutine that waits for signals in a system call is idle")
    func signals() {
        var signals = Self.goroutine(5, "syscall", [], isActive: true)
        signals.thread = 7
        let thread = CapturedThread(
            id: 7, name: "bank", state: "S", frames: Self.frames(["runtime.notetsleepg", "os/signal.signal_recv"]))
        let shown = [Self.main, Self.other, signals]
        #expect(Self.finding(shown, threads: [thread])?.kind == .goroutineDeadlock)
        #expect(Self.finding(shown)?.kind == .goroutineWait)
    }

    @Test(
        "The wait of the main goroutine is named with the app's function",
        arguments: [
            ("sync.Mutex.Lock", "for a sync.Mutex"), ("sync.WaitGroup.Wait", "for a sync.WaitGroup"),
            ("chan receive", "to receive from a channel"), ("IO wait", "for a connection or a pipe"),
            ("a new reason", "(a new reason)"),
        ])
    func main(state: String, words: String) throws {
        let other = Self.goroutine(30, "running", [], isActive: true)
        let found = try #require(
            Self.finding([Self.goroutine(1, state, ["runtime.gopark", "main.load", "main.main"]), other]))
        #expect(found.kind == .goroutineWait)
        #expect(found.text == "Main goroutine waits \(words) in main.load (bank.go:11)")
        #expect(found.source == "goroutine 1: \(state)")
    }

    @Test("Others that wait for a lock are named too, and instead of a main goroutine that serves")
    func crowd() {
        let crowd = Self.goroutine(30, "sync.Mutex.Lock", Self.lock + ["main.handle"], others: [31, 32])
        let reader = Self.goroutine(40, "IO wait", ["runtime.gopark", "net.(*conn).Read", "main.fetch"])
        let waiting = Self.goroutine(1, "chan receive", ["runtime.gopark", "main.main"])
        let serving = Self.goroutine(1, "IO wait", Self.accept + ["main.main"])
        let words = "3 goroutines wait for a sync.Mutex in main.handle (bank.go:14)"
        #expect(
            Self.finding([waiting, crowd, reader])?.text
                == "Main goroutine waits to receive from a channel in main.main (bank.go:11), and \(words)")
        #expect(Self.finding([serving, crowd, reader])?.text == "\(words), while the main goroutine waits for clients")
        #expect(Self.finding([serving, reader]) == nil)
    }

    @Test("Nothing is said about a main goroutine that runs, or without goroutines")
    func running() {
        #expect(Self.finding([Self.goroutine(1, "running", [], isActive: true), Self.other]) == nil)
        let other = CapturedProcess(method: .ptrace, threads: [], images: [])
        #expect(GoroutineWaits(in: other, HangEvidence(processorCount: 2)) == nil)
    }

    @Test("A wait for an object of package sync has its method's name, also until Go 1.19")
    func states() {
        let cases: [(String, [String], String)] = [
            ("semacquire", ["sync.runtime_SemacquireMutex", "sync.(*Mutex).lockSlow", "main.f"], "sync.Mutex.Lock"),
            ("semacquire", ["sync.runtime_Semacquire", "sync.(*WaitGroup).Wait", "main.f"], "sync.WaitGroup.Wait"),
            ("sync.Mutex.Lock", ["internal/sync.(*Mutex).lockSlow", "main.f"], "sync.Mutex.Lock"),
            ("sync.Mutex.Lock", ["sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "main.f"], "sync.RWMutex.Lock"),
            ("sync.Mutex.Lock", ["sync.(*Mutex).Lock", "main.g", "sync.(*Once).doSlow"], "sync.Mutex.Lock"),
            ("semacquire", ["main.f"], "semacquire"), ("chan send", ["sync.(*Mutex).Lock"], "chan send"),
        ]
        for (state, calls, expected) in cases {
            #expect(CapturedGoroutine.state(state, Self.frames(["runtime.gopark"] + calls)) == expected, "\(calls)")
        }
    }

    @Test("The runtime's own goroutines are known by their functions, or without names by their states")
    func runtimes() {
        #expect(CapturedGoroutine.isRuntimes("GC worker (idle)", []))
        #expect(CapturedGoroutine.isRuntimes("chan receive", Self.frames(["runtime.gopark", "runtime.bgsweep"])))
        #expect(!CapturedGoroutine.isRuntimes("chan receive", Self.frames(["runtime.gopark", "main.main"])))
        #expect(!CapturedGoroutine.isRuntimes("chan receive", []))
    }
}
