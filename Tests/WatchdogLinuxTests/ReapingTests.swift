// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Children that nobody waits for", .reapsChildren)
struct ReapingTests {
    @Test("One that exits later is reaped on exit")
    func later() throws {
        let process = try spawn(shell("exec sleep 31415")).process
        process.reapWhenItExits()
        #expect(process.isPresent)
        try process.send(SIGKILL)
        #expect(eventually { !process.isPresent })
    }

    @Test("One that has exited is reaped immediately")
    func now() throws {
        let process = try spawn(shell("exit 3")).process
        #expect(eventually { process.hasExited })
        process.reapWhenItExits()
        #expect(!process.isPresent)
    }

    @Test("One that was already reaped is left alone")
    func reaped() throws {
        let process = try spawn(shell("exit 3")).process
        #expect(eventually { process.hasExited })
        #expect(try process.waitExit()?.status == .exited(code: 3))
        process.reapWhenItExits()
        #expect(!process.isPresent)
    }

    @Test("A killed child is awaited as long as it can run, and abandoned once it cannot")
    func starved() throws {
        let process = try spawn(shell("exec sleep 31415")).process
        #expect(!process.reapKilled(whileStuck: .zero) { _ in false })
        #expect(process.isPresent)
        var looks = 0
        let isReaped = process.reapKilled(whileStuck: .zero) { _ in
            looks += 1
            // As if the child got its first CPU now.
            if looks == 3 { try? process.send(SIGKILL) }
            return true
        }
        #expect(isReaped && looks >= 3)
        #expect(!process.isPresent)
    }

    @Test("A child whose first thread has exited can run as long as another thread can")
    func firstThread() throws {
        let spinning = try spawn(
            SpawnRequest(
                executable: "/usr/bin/python3",
                arguments: [
                    "python3", "-c",
                    """
                    import ctypes, threading
                    def spin():
                        while True: pass
                    threading.Thread(target=spin).start()
                    ctypes.CDLL(None).pthread_exit(None)
                    """,
                ])
        ).process
        #expect(eventually { ProcessStat.read(spinning.pid)?.state == .zombie })
        #expect(eventually { Procfs.hasRunnableThread(spinning.pid) })
        try spinning.send(SIGKILL)
        #expect(spinning.reapKilled(whileStuck: patience))
        #expect(!Procfs.hasRunnableThread(spinning.pid))
    }
}
