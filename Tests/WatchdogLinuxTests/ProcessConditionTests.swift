// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("The condition of a process", .reapsChildren)
struct ProcessConditionTests {
    @Test("is alive while it runs, and stuck while it is stopped, with the way to end that")
    func stopped() throws {
        let process = try spawn(SpawnRequest(executable: "/bin/sleep", arguments: ["sleep", "1000"])).process
        defer { process.killAndReap() }
        // The main thread may wait for a disk for a moment.
        #expect(eventually { ProcessCondition.of(process.pid) == .alive })
        #expect(eventually { ProcessCondition.of(getpid()) == .alive })
        try process.send(SIGSTOP)
        let expected =
            "process \(process.pid) is stopped (state T); 'kill -CONT \(process.pid)' continues it, "
            + "'kill -KILL \(process.pid)' ends it"
        #expect(eventually { ProcessCondition.of(process.pid) == .stuck(expected) })
        try process.send(SIGCONT)
        #expect(eventually { ProcessCondition.of(process.pid) == .alive })
    }

    @Test("is beyond return once the process is dead, whether or not it is reaped")
    func dead() throws {
        let process = try spawn(SpawnRequest(executable: "/bin/true", arguments: ["true"])).process
        #expect(eventually { process.hasExited })
        #expect(ProcessCondition.of(process.pid) == .beyondReturn)
        _ = try process.waitExit()
        #expect(ProcessCondition.of(process.pid) == .beyondReturn)
    }

    @Test(
        "is stuck in the kernel until it is killed, and then beyond return, whichever thread is blocked",
        arguments: ["main", "thread"])
    func heldUp(mode: String) throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "flush") else { return }
        defer { fileSystem.end() }
        let script = """
            import ctypes, os, signal, sys, threading
            signal.signal(signal.SIGUSR1, lambda *_: None)
            file = os.open(sys.argv[1], os.O_RDONLY)
            if sys.argv[2] == "main":
                os.close(file)
            threading.Thread(target=os.close, args=[file]).start()
            ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
            """
        let process = try spawn(
            SpawnRequest(
                executable: "/usr/bin/python3",
                arguments: ["python3", "-c", ByteString(script), ByteString(fileSystem.file), ByteString(mode)])
        ).process
        defer {
            fileSystem.end()
            process.killAndReap()
        }
        let pid = process.pid
        try fileSystem.awaitSilence()
        if mode == "thread" {
            try #require(eventually { ProcessStat.read(pid, thread: pid)?.state == .zombie })
        }
        #expect(ProcessCondition.of(pid) == .alive, "a signal would go on")
        if mode == "main" {
            try process.send(SIGUSR1)
            let expected =
                "process \(pid) is blocked in the kernel in request_wait_answer (state D); "
                + "'kill -KILL \(pid)' gives it up"
            #expect(eventually { ProcessCondition.of(pid) == .stuck(expected) })
        }
        try process.send(SIGKILL)
        #expect(eventually { ProcessCondition.of(pid) == .beyondReturn })
        #expect(kill(pid, 0) == 0, "it is still there")
    }

    @Test("the condition of this process names a thread that ignores signals")
    func ownThread() throws {
        guard let fileSystem = try SilentFileSystem(withoutAnswerTo: "getattr") else { return }
        defer { fileSystem.end() }
        let path = fileSystem.file
        startThread {
            try? write("held-in-test", to: "/proc/thread-self/comm")
            var information = stat()
            stat(path, &information)
        }
        let words = "(held-in-test) is blocked in request_wait_answer"
        func isNamed() -> Bool { ProcessCondition.threadsBeyondSignals().values.contains { $0.hasSuffix(words) } }
        #expect(eventually { isNamed() })
        fileSystem.end()
        #expect(eventually { !isNamed() })
    }
}
