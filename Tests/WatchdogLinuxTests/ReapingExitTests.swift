// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("The children of a process that exits")
struct ReapingExitTests {
    /// Makes this process fail if it still has a child at exit; registered first, because the handlers run in reverse
    /// order.
    private static func demandNoChild() {
        atexit { if !Procfs.children(of: getpid()).isEmpty { _exit(7) } }
    }

    /// A child that only SIGKILL can end.
    private static func stoppedChild() throws -> Pidfd {
        let process = try spawn(shell("exec sleep 31415")).process
        try process.send(SIGSTOP)
        try #require(eventually { ProcessStat.read(process.pid)?.state == .stopped })
        return process
    }

    @Test("are reaped before it exits, whatever blocks those that nobody waits for")
    func unawaited() async {
        await #expect(processExitsWith: .exitCode(0)) {
            Self.demandNoChild()
            for _ in 0..<3 { try Self.stoppedChild().reapWhenItExits() }
            exit(0)
        }
    }

    @Test("are reaped with their own leftovers if nothing may keep running")
    func orphans() async {
        await #expect(processExitsWith: .exitCode(0)) {
            Self.demandNoChild()
            try Subreaper.become()
            let leaving = try spawn(shell("sleep 31415 & sleep 31416 & kill -STOP $!")).process
            try #require(eventually { leaving.hasExited })
            let stopped = try Self.stoppedChild()
            Subreaper.endChildren()
            #expect(!leaving.isPresent && !stopped.isPresent)
            #expect(Procfs.children(of: getpid()).isEmpty)
            exit(0)
        }
    }
}
