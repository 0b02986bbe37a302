// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogVerdict

@Suite("What the goroutines of a Go program wait for from other programs")
struct GoroutineConnectionsTests {
    private static let polling = ["runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_pollWait"]
    private static let reading = polling + ["internal/poll.(*FD).Read", "net.(*conn).Read"]
    private static let roundTrip = ["runtime.gopark", "runtime.selectgo", "net/http.(*persistConn).roundTrip"]

    private static func goroutine(
        _ id: Int, _ state: String, _ calls: [String], others: [Int] = [], descriptors: [Int] = []
    ) -> CapturedGoroutine {
        let frames = calls.enumerated().map { line, call in
            let isOwn = call.hasPrefix("main.")
            return Frame(
                address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: call, symbolLocation: 4,
                sourceFile: isOwn ? "/src/shop.go" : "/usr/lib/go/src/x.go", sourceLine: isOwn ? 10 + line : 1,
                trust: .cfi)
        }
        return CapturedGoroutine(id: id, state: state, others: others, descriptors: descriptors, frames: frames)
    }

    /// The finding, while a thread besides the main thread polls these files.
    private static func text(_ shown: [CapturedGoroutine], files: [Int: String] = [:]) -> String? {
        var capture = CapturedProcess(method: .ptrace, threads: [], images: [])
        capture.goroutines = CapturedGoroutines(count: shown.count + 4, shown: shown)
        var evidence = HangEvidence(processorCount: 2)
        let list = files.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
        evidence.besides = [
            WaitDetails(
                process: 7, thread: 9, name: "shop", syscall: "281 0x3 0xc000 0x80 0xffffffff 0x0 0x0 0x7f 0x46",
                subject: "fd 3: epoll of \(files.count) fds: \(list)", sources: [])
        ]
        return GoroutineWaits(in: capture, evidence)?.finding(mainThread: 7)?.text
    }

    private static let database = "TCP 127.0.0.1:51234 → 127.0.0.1:5432, ESTABLISHED, nothing to read"
    private static let client = "TCP 127.0.0.1:8080 → 127.0.0.1:40001, ESTABLISHED, nothing to read"
    private static let listener = "TCP [::]:8080, LISTEN, no connection to accept"

    @Test(
        "A wait for a connection is named by its other end",
        arguments: [
            (reading, database, "for an answer from 127.0.0.1:5432"),
            (
                reading, "\(database), other end in pid 12 \"postgres\"",
                "for an answer from 127.0.0.1:5432 (postgres)"
            ),
            (
                polling + ["net.(*netFD).connect", "net.(*sysDialer).dialTCP"],
                "TCP 10.0.0.1:51234 → 10.9.9.9:80, SYN_SENT", "for a connection to 10.9.9.9:80"
            ),
            (
                polling + ["internal/poll.(*FD).Write", "net.(*conn).Write"],
                "TCP 10.0.0.1:51234 → 10.9.9.9:80, ESTABLISHED, 9000 bytes not acknowledged",
                "for 10.9.9.9:80 to take its data"
            ),
            (
                polling + ["os.(*File).Read"], "pipe, other end in pid 12 \"sort\"",
                "for data from sort (pid 12) through a pipe"
            ),
            (polling + ["os.(*File).Write"], "pipe", "to write to a pipe"),
            (polling + ["net.(*conn).Read"], "Unix socket /run/db.sock", "for data from Unix socket /run/db.sock"),
        ])
    func named(calls: [String], file: String, words: String) {
        let isWriting = calls.contains("os.(*File).Write")
        let stack = (isWriting ? calls + ["internal/poll.(*FD).Write"] : calls) + ["main.load"]
        let main = Self.goroutine(1, "IO wait", stack, descriptors: [5])
        #expect(Self.text([main], files: [5: file])?.hasPrefix("Main goroutine waits \(words) in main.load") == true)
    }

    @Test("A file that is not known is a connection if package net waits, or else it may be a pipe")
    func unknown() {
        let socket = Self.goroutine(1, "IO wait", Self.reading + ["main.load"], descriptors: [5])
        #expect(
            Self.text([socket], files: [6: Self.database])
                == "Main goroutine waits for a connection in main.load (shop.go:15)")
        let file = Self.goroutine(1, "IO wait", Self.polling + ["os.(*File).Read", "main.load"])
        #expect(Self.text([file]) == "Main goroutine waits for a connection or a pipe in main.load (shop.go:14)")
    }

    @Test("An HTTP request is named by its server if all go to the same one")
    func response() {
        let main = Self.goroutine(1, "select", Self.roundTrip + ["net/http.Get", "main.charge"])
        func reader(_ id: Int, _ descriptor: Int) -> CapturedGoroutine {
            Self.goroutine(
                id, "IO wait", Self.reading + ["net/http.(*persistConn).readLoop"], descriptors: [descriptor])
        }
        let other = "TCP 127.0.0.1:51300 → 127.0.0.1:9999, ESTABLISHED, nothing to read"
        let words = "Main goroutine waits for an HTTP response"
        #expect(Self.text([main]) == "\(words) in main.charge (shop.go:14)")
        #expect(
            Self.text([main, reader(8, 5)], files: [5: Self.database])
                == "\(words) from 127.0.0.1:5432 in main.charge (shop.go:14)")
        #expect(
            Self.text([main, reader(8, 5), reader(9, 6)], files: [5: Self.database, 6: other])
                == "\(words) in main.charge (shop.go:14)")
    }

    @Test("In a server, those that wait for an answer come before those that wait for their locks")
    func server() {
        let main = Self.goroutine(1, "IO wait", Self.polling + ["internal/poll.(*FD).Accept", "main.main"])
        let holder = Self.goroutine(51, "IO wait", Self.reading + ["main.query"], descriptors: [5])
        let crowd = Self.goroutine(
            30, "sync.Mutex.Lock", ["runtime.gopark", "sync.(*Mutex).Lock", "main.handle"], others: [31, 32])
        let files = [3: Self.listener, 4: Self.client, 5: Self.database]
        let answer = "Goroutine 51 waits for an answer from 127.0.0.1:5432 in main.query (shop.go:15)"
        let lock = "3 goroutines wait for a sync.Mutex in main.handle (shop.go:12)"
        let meanwhile = ", while the main goroutine waits for clients"
        #expect(Self.text([main, holder, crowd], files: files) == "\(answer), and \(lock)\(meanwhile)")
        #expect(Self.text([main, holder], files: files) == answer + meanwhile)
        // A handler that waits for its client's next request is idle, and one of the process's own server is no cause.
        for (descriptor, address) in [(4, ""), (6, "TCP 127.0.0.1:40001 → 127.0.0.1:8080, ESTABLISHED")] {
            let idle = Self.goroutine(51, "IO wait", Self.reading + ["main.serve"], descriptors: [descriptor])
            let files = address.isEmpty ? files : files.merging([6: address]) { $1 }
            #expect(Self.text([main, idle], files: files) == nil)
            #expect(Self.text([main, idle, crowd], files: files) == lock + meanwhile)
        }
    }

    @Test("A main goroutine that waits for its workers is joined by what they wait for")
    func workers() {
        let main = Self.goroutine(1, "sync.WaitGroup.Wait", ["runtime.gopark", "sync.(*WaitGroup).Wait", "main.main"])
        let worker = Self.goroutine(
            20, "select", ["runtime.gopark", "runtime.selectgo", "database/sql.(*DB).conn", "main.count"], others: [21])
        #expect(
            Self.text([main, worker])
                == "Main goroutine waits for a sync.WaitGroup in main.main (shop.go:12), and 2 goroutines wait for a free "
                + "connection of its database pool in main.count (shop.go:13)")
    }

    @Test("A goroutine that computes comes before the main goroutine that waits for it")
    func computing() {
        var capture = CapturedProcess(method: .ptrace, threads: [], images: [])
        let frame = Frame(
            address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: "main.hashAll", symbolLocation: 4,
            sourceFile: "/src/shop.go", sourceLine: 40, trust: .registers)
        capture.threads = [CapturedThread(id: 9, name: "shop", state: "R", syscall: "running", frames: [frame])]
        var worker = Self.goroutine(19, "running", [])
        (worker.isActive, worker.thread) = (true, 9)
        let main = Self.goroutine(1, "chan receive", ["runtime.gopark", "main.main"])
        capture.goroutines = CapturedGoroutines(count: 5, activeCount: 1, shown: [main, worker])
        let found = GoroutineWaits(in: capture, HangEvidence(processorCount: 2))?.finding(mainThread: 7)
        #expect(
            found?.text
                == "Goroutine 19 computes in main.hashAll (shop.go:40), while the main goroutine waits to receive from a "
                + "channel in main.main (shop.go:11)")
        #expect(found?.thread == 9 && found?.goroutine == 19)
    }

    @Test("A main goroutine in a system call of another thread is named with that")
    func elsewhere() throws {
        var capture = CapturedProcess(method: .ptrace, threads: [], images: [])
        let frames = ["syscall.openat", "os.Open", "main.openLog"].map { call in
            Frame(
                address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: call, symbolLocation: 4,
                sourceFile: call.hasPrefix("main.") ? "/src/shop.go" : "/usr/lib/go/src/x.go", sourceLine: 1,
                trust: .cfi)
        }
        let call = "257 0xffffff9c 0xc000 0x80000 0x0 0x0 0x0 0x7f 0x46"
        capture.threads = [CapturedThread(id: 9, name: "shop", state: "S", syscall: call, frames: frames)]
        var main = Self.goroutine(1, "syscall", [])
        (main.isActive, main.thread) = (true, 9)
        capture.goroutines = CapturedGoroutines(count: 5, activeCount: 1, shown: [main])
        var evidence = HangEvidence(processorCount: 2)
        evidence.besides = [
            WaitDetails(process: 7, thread: 9, name: "shop", syscall: call, subject: "/var/log/fifo", sources: [])
        ]
        let waits = try #require(GoroutineWaits(in: capture, evidence))
        let found = try #require(waits.finding(mainThread: 7))
        #expect(found.text == "Main goroutine is in openat (/var/log/fifo) in main.openLog (shop.go:1), on thread 9")
        #expect(found.thread == 9)
        #expect(waits.finding(mainThread: 9) == nil)
    }
}
