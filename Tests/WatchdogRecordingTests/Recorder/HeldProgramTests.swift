// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogRecording

@Suite("A program that waits before its execve(2)", .reapsChildren)
struct HeldProgramTests {
    private func held(_ executable: String = "/bin/sleep") throws -> HeldProgram {
        let request = RecordingRequest(executable: executable, command: ["a", "31415"])
        return try HeldProgram(request, environment: request.environment, inherited: -1)
    }

    @Test("exits with its holder, even if it was stopped, and is reaped")
    func unreleased() throws {
        var program: HeldProgram? = try held()
        let child = try #require(program?.pidfd)
        try child.send(SIGSTOP)
        try #require(eventually { ProcessStat.read(child.pid)?.state == .stopped })
        program = nil
        #expect(eventually { !child.isPresent })
    }

    @Test("is reaped if it cannot be executed")
    func failed() throws {
        let program = try held("/dev/null/a")
        program.release()
        var entry = pollfd(fd: program.status.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, patienceInMilliseconds) == 1)
        #expect(program.failure()?.rawValue == ENOTDIR)
        program.abandon()
        #expect(eventually { !program.pidfd.isPresent })
    }

    @Test("continues without its holder once it has been released")
    func released() throws {
        var program: HeldProgram? = try held()
        let child = try #require(program?.pidfd)
        program?.release()
        #expect(eventually { ProcessStat.read(child.pid)?.name == "sleep" })
        program = nil
        #expect(!child.hasExited)
        try child.send(SIGKILL)
        child.reapWhenItExits()
        #expect(eventually { !child.isPresent })
    }
}
