// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Children that nobody waits for", .reapsChildren)
struct ReapingTests {
    @Test("One that exits later is reaped when it does")
    func later() throws {
        let process = try spawn(shell("exec sleep 31415")).process
        process.reapWhenItExits()
        #expect(process.isPresent)
        try process.send(SIGKILL)
        #expect(eventually { !process.isPresent })
    }

    @Test("One that has exited is reaped at once")
    func now() throws {
        let process = try spawn(shell("exit 3")).process
        #expect(eventually { process.hasExited })
        process.reapWhenItExits()
        #expect(!process.isPresent)
    }

    @Test("One that was reaped meanwhile is left alone")
    func reaped() throws {
        let process = try spawn(shell("exit 3")).process
        #expect(eventually { process.hasExited })
        #expect(try process.waitExit()?.status == .exited(code: 3))
        process.reapWhenItExits()
        #expect(!process.isPresent)
    }
}
