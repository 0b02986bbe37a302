// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogVerdict

@Suite("Kinds of waits")
struct WaitKindTests {
    private static func wait(
        in call: String, for subject: String, last process: Int = 9, state: String = "S"
    ) -> WaitDetails {
        WaitDetails(
            process: 1, thread: 1, name: "app", syscall: "\(call) 0x1 0x1 0x1 0x1 0x0 0x0 0x7ffe 0x7f00",
            subject: subject,
            holder: .init(relation: .lastUsed, process: process, name: "worker", state: state), sources: [])
    }

    private static let semaphore = "semaphore 1 of System V semaphore set 3"
    private static let queue = "System V message queue 3"

    @Test("Who has used a System V object last is named with what it did")
    func lastUser() {
        // semop(2), msgrcv(2) and msgsnd(2).
        #expect(
            WaitText([Self.wait(in: "65", for: Self.semaphore)]).whole
                == "semaphore 1 of System V semaphore set 3, last changed by pid 9 \"worker\"")
        #expect(
            WaitText([Self.wait(in: "70", for: Self.queue)]).whole
                == "System V message queue 3, last written by pid 9 \"worker\"")
        #expect(
            WaitText([Self.wait(in: "69", for: Self.queue)]).whole
                == "System V message queue 3, last read by pid 9 \"worker\"")
        #expect(
            WaitText([Self.wait(in: "65", for: Self.semaphore, state: "T")]).whole?.hasSuffix(", which is stopped")
                == true)
        #expect(
            WaitText([Self.wait(in: "65", for: Self.semaphore, state: "F")]).whole?.hasSuffix(", which is frozen")
                == true)
    }

    @Test("A frozen holder is described as frozen, not by its pending call")
    func frozenHolder() {
        let pending = WaitDetails(
            process: 9, thread: 9, name: "worker", syscall: "0 0x3 0x1 0x1 0x1 0x0 0x0 0x7ffe 0x7f00",
            subject: "fd 3: pipe",
            sources: [])
        let text = WaitText([Self.wait(in: "65", for: Self.semaphore, state: "F"), pending])
        #expect(text.whole?.contains("pipe") == false)
    }

    @Test(
        "A thread in a freezer of either version is frozen; other sleeps are not",
        arguments: [
            ("S", "get_signal", true), ("S", "do_freezer_trap", true), ("D", "__refrigerator", true),
            ("T", "get_signal", false), ("S", "__refrigerator", false), ("D", "get_signal", false),
            ("S", "pipe_read", false),
        ])
    func frozen(state: String, channel: String, isFrozen: Bool) {
        let thread = CapturedThread(
            id: 2, name: "worker", state: state, waitChannel: channel,
            syscall: "0 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", frames: [])
        #expect(thread.isFrozen == isFrozen)
        var process = OtherProcess(pid: 2, parentPID: 1, name: "worker", state: Character(state))
        process.capture = CapturedProcess(method: .ptrace, threads: [thread], images: [])
        let deed = ProcessDeed(
            process, in: Descendants(main: 1, others: [process]), HangEvidence(processorCount: 2))
        #expect((deed.words == "is frozen with its cgroup") == isFrozen)
    }

    @Test("A process that was seen frozen is so even if it could not be captured")
    func frozenWithoutCapture() {
        var evidence = HangEvidence(processorCount: 2)
        evidence.waits = [
            WaitDetails(
                process: 1, thread: 1, name: "app", syscall: "61 0x2 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f00",
                subject: "child",
                holder: .init(relation: .child, process: 2, name: "worker", state: "F"), sources: [])
        ]
        let process = OtherProcess(pid: 2, parentPID: 1, name: "worker", state: "D")
        let deed = ProcessDeed(process, in: Descendants(main: 1, others: [process]), evidence)
        #expect(deed.strength == .isStuck && deed.words == "is frozen with its cgroup")
    }

    // MARK: - Python's pools

    private static func python(_ function: String, _ file: String) -> Frame {
        Frame(
            address: 0, imageIndex: -1, imageOffset: 0, symbol: function, symbolLocation: 0, sourceFile: file,
            sourceLine: 12, language: .python, trust: .interpreter)
    }

    private static func worker(_ calls: [Frame]) -> CapturedThread {
        CapturedThread(
            id: 2, name: "python3", state: "S", syscall: "45 0x3 0x1 0x1 0x0 0x0 0x0 0x7ffe 0x7f00", frames: calls)
    }

    @Test(
        "A worker of a pool is at work if the app's code lies between its loop and the innermost frame",
        arguments: [
            ("multiprocessing/pool.py", "worker"), ("concurrent/futures/process.py", "_process_worker"),
            ("concurrent/futures/thread.py", "_worker"),
        ])
    func pool(file: String, function: String) {
        let library = "/usr/lib/python3.11/"
        let loop = Self.python(function, library + file)
        let take = Self.python("get", library + "multiprocessing/queues.py")
        let fetch = Self.python("fetch_report", "/srv/app.py")
        let parent = Self.python("main", "/srv/app.py")
        #expect(PythonPool.runsTask(Self.worker([fetch, loop, parent])))
        #expect(PythonPool.runsTask(Self.worker([take, fetch, loop, parent])))
        #expect(!PythonPool.runsTask(Self.worker([take, loop, parent])))
        #expect(!PythonPool.runsTask(Self.worker([fetch, parent])))
    }
}
