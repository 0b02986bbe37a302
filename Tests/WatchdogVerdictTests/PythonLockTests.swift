// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import WatchdogVerdict

@Suite("A main thread that waits in a lock of Python's threads")
struct PythonLockTests {
    private static let endless = "202 0x5561 0x189 0x0 0x0 0x0 0xffffffff 0x7fff8f62f510 0x7fc9148a3f16"
    private static let timed = "202 0x5561 0x189 0x0 0x7fff8f60 0x0 0xffffffff 0x7fff8f62f510 0x7fc9148a3f16"
    private static let library = "/usr/lib/python3.11/"

    private static func machine(_ name: String) -> Frame {
        Frame(
            address: 0x1000, imageIndex: 0, imageOffset: 0x1000, symbol: name, symbolLocation: 4, trust: .cfi)
    }

    private static func python(_ name: String, _ file: String, _ line: Int = 12) -> Frame {
        Frame(
            address: 0x3000, imageIndex: 0, imageOffset: 0, symbol: name, symbolLocation: 0, sourceFile: file,
            sourceLine: line, language: .python, trust: .interpreter)
    }

    /// A thread inside a lock, called by these functions, innermost first.
    private static func waiter(
        _ id: Int, _ calls: [Frame], syscall: String = endless, lock: String = "PyThread_acquire_lock_timed"
    ) -> CapturedThread {
        let wait = ["__futex_abstimed_wait_common", "__new_sem_wait_slow64", lock, "lock_PyThread_acquire_lock"]
        return CapturedThread(
            id: id, name: "python3", state: "S", syscall: syscall, frames: wait.map(machine) + calls)
    }

    private static func finding(_ threads: [CapturedThread]) -> Finding? {
        let capture = CapturedProcess(method: .ptrace, threads: threads, images: [])
        return Finding.all(in: capture, main: 1, evidence: HangEvidence(processorCount: 2)).first {
            [.pythonLock, .pythonDeadlock].contains($0.kind)
        }
    }

    private static let main = waiter(
        1, [python("transfer", "/srv/bank.py", 6), python("<module>", "/srv/bank.py", 12)])
    private static let other = waiter(2, [python("write_audit_log", "/srv/bank.py", 10)])
    /// Waits for work in the library's own code, like a pool's thread.
    private static let idle = waiter(3, [python("_worker", library + "concurrent/futures/thread.py")])

    @Test("All threads in acquire are a probable deadlock, with each one's function", arguments: [false, true])
    func deadlock(hasPool: Bool) throws {
        let found = try #require(Self.finding([Self.main, Self.other] + (hasPool ? [Self.idle] : [])))
        #expect(found.kind == .pythonDeadlock)
        #expect(found.thread == 2)
        #expect(
            found.text
                == "Probably a deadlock: transfer (bank.py:6) and write_audit_log (bank.py:10) wait for Python locks, "
                + "and no other Python thread runs")
    }

    @Test("Of many threads, two are named")
    func many() {
        let threads = (1...5).map { Self.waiter($0, [Self.python("step\($0)", "/srv/bank.py")]) }
        #expect(
            Self.finding(threads)?.text
                == "Probably a deadlock: step1 (bank.py:12), step2 (bank.py:12) and 3 more wait "
                + "for Python locks, and no other Python thread runs")
    }

    @Test("The lock of Python 3.14 is a different function")
    func newLock() {
        let threads = [1, 2].map { id in
            Self.waiter(id, [Self.python("step", "/srv/bank.py")], lock: "_PyMutex_LockTimed")
        }
        #expect(Self.finding(threads)?.kind == .pythonDeadlock)
    }

    @Test("There is no deadlock while a thread may still release a lock")
    func released() {
        let computing = CapturedThread(
            id: 4, name: "python3", state: "R", syscall: "running",
            frames: [Self.machine("long_mul"), Self.python("hash", "/srv/bank.py")])
        let between = CapturedThread(id: 4, name: "python3", state: "R", syscall: "running", frames: [])
        let sleeping = CapturedThread(
            id: 4, name: "python3", state: "S", syscall: "230 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00",
            frames: [Self.machine("clock_nanosleep"), Self.python("poll", "/srv/bank.py")])
        let patient = Self.waiter(4, [Self.python("retry", "/srv/bank.py")], syscall: Self.timed)
        for last in [computing, between, sleeping, patient] {
            #expect(Self.finding([Self.main, Self.other, last])?.kind == .pythonLock, "\(last)")
        }
        #expect(Self.finding([Self.main])?.kind == .pythonLock)
        #expect(Self.finding([Self.main, Self.idle])?.kind == .pythonLock)
    }

    @Test(
        "The wait of a library function is described",
        arguments: [
            (["threading.py:Condition.wait", "queue.py:Queue.get"], "an item in a Python Queue"),
            (["threading.py:Condition.wait", "queue.py:put"], "room in a Python Queue"),
            (
                ["threading.py:Thread._wait_for_tstate_lock", "threading.py:Thread.join"],
                "the end of another Python thread (join)"
            ),
            (
                ["threading.py:Condition.wait", "concurrent/futures/_base.py:Future.result"],
                "the result of a Python Future"
            ),
            (
                ["threading.py:Condition.wait", "threading.py:Event.wait"],
                "a Python Event or Condition, which another thread must set or notify"
            ),
            ([], "a Python lock"),
        ] as [([String], String)])
    func library(calls: [String], words: String) {
        let frames = calls.map { call in
            let parts = call.split(separator: ":").map(String.init)
            return Self.python(parts[1], Self.library + parts[0])
        }
        let found = Self.finding([Self.waiter(1, frames + [Self.python("serve", "/srv/app.py")])])
        #expect(found?.kind == .pythonLock)
        #expect(found?.text == "The thread waits for \(words)")
    }
}
