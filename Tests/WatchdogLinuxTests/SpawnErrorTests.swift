// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Spawning fails", .reapsChildren)
struct SpawnErrorTests {
    private func failure(_ request: SpawnRequest) throws -> SpawnError {
        try #require(throws: SpawnError.self) { _ = try spawn(request) }
    }

    @Test("a spawn fails in a directory that does not exist")
    func directory() throws {
        var request = shell("true")
        request.workingDirectory = "/nowhere/at all"
        let error = try failure(request)
        #expect(error.stage == .directory)
        #expect("\(error)" == "cannot change directory to /nowhere/at all: No such file or directory (ENOENT)")
        #expect(error.shellCode == 126)
    }

    @Test("a spawn fails for a program that does not exist, and leaves no child behind")
    func missing() throws {
        let error = try failure(SpawnRequest(executable: "/nowhere/program", arguments: ["program"]))
        #expect(error.stage == .execute)
        #expect("\(error)" == "cannot execute /nowhere/program: No such file or directory (ENOENT)")
        #expect(error.shellCode == 127)
    }

    @Test("a spawn fails for a program whose interpreter does not exist")
    func interpreter() throws {
        try withTemporaryDirectory { directory in
            try writeProgram("#!/nowhere/interpreter -x\n", to: "\(directory)/script")
            let error = try failure(SpawnRequest(executable: "\(directory)/script", arguments: ["script"]))
            let reason = "its interpreter /nowhere/interpreter does not exist: No such file or directory (ENOENT)"
            #expect("\(error)" == "cannot execute \(directory)/script: \(reason)")
        }
    }

    @Test("a spawn fails for a program of another architecture, but not for a script without an interpreter line")
    func notAProgram() throws {
        try withTemporaryDirectory { directory in
            try writeProgram("\u{7f}ELF\0\0\0\0", to: "\(directory)/program")
            let error = try failure(SpawnRequest(executable: "\(directory)/program", arguments: ["program"]))
            #expect(error.errno == .notAProgram)
            #expect(error.shellCode == 126)

            try writeProgram("echo \"$0\" \"$1\"\n", to: "\(directory)/script")
            let result = try run(SpawnRequest(executable: "\(directory)/script", arguments: ["name", "one"]))
            #expect(result.output == "\(directory)/script one\n")
        }
    }

    @Test("a spawn fails for a file that may not be executed")
    func permission() throws {
        let error = try failure(SpawnRequest(executable: "/etc/passwd", arguments: ["passwd"]))
        #expect("\(error)" == "cannot execute /etc/passwd: Permission denied (EACCES)")
        #expect(error.shellCode == 126)
    }

    @Test("a spawn fails with arguments that are too long, and reports their length")
    func argumentsTooLong() throws {
        let one = try failure(shell("true", String(repeating: "x", count: 200_000)))
        #expect(one.errno == .argumentsTooLong)
        #expect(one.description.contains("one argument or variable has 200000 bytes, the kernel takes 131071"))
        var many = shell("true")
        many.arguments += Array(repeating: ByteString(String(repeating: "y", count: 100_000)), count: 100)
        #expect(try failure(many).description.contains("arguments and environment have 100"))
    }

    @Test("a spawn fails with descriptors that are not open, and names them")
    func descriptors() throws {
        var request = shell("true")
        request.descriptors.append(.init(1_000_000, as: 7))
        let error = try failure(request)
        #expect("\(error)" == "cannot pass descriptor 1000000 as 7: Bad file descriptor (EBADF)")
        request.descriptors = [.init(0, as: 5), .init(1, as: 5)]
        #expect(try failure(request).stage == .descriptor)
        request.descriptors = [.init(-1, as: 5)]
        #expect(try failure(request).errno == .invalidArgument)
    }

    @Test("a spawn fails with limits above the permitted ones")
    func limits() throws {
        var request = shell("true")
        request.limits = [
            ResourceLimit(.core, soft: 0, hard: 0), ResourceLimit(.openFiles, soft: .max, hard: .max),
        ]
        let error = try failure(request)
        #expect(error.stage == .limit)
        #expect(error.description.hasPrefix("cannot set the limit on NOFILE: "))
    }

    @Test("a spawn fails with an impossible OOM score or terminal")
    func impossible() throws {
        var request = shell("true")
        request.oomScoreAdjustment = 5000
        #expect(try failure(request).stage == .oomScore)
        request.oomScoreAdjustment = nil
        let null = try OwnedDescriptor(opening: "/dev/null", flags: O_RDWR)
        request.session = .newProcessGroup(foregroundOf: null.number)
        #expect(try failure(request).stage == .foreground)
    }

    @Test(
        "a spawn fails if another user's credentials are not permitted",
        .enabled(if: getuid() != 0, "needs an ordinary user"))
    func credentials() throws {
        var request = shell("true")
        request.credentials = Credentials(user: 0, group: 0)
        #expect(try failure(request).stage == .groups)
    }

    @Test("a spawn fails after the limit if a file server delays the launch")
    func hungLaunch() throws {
        try withTemporaryDirectory { directory in
            // Executing a file opens it for reading, which a lease holder delays until it releases the lease.
            let path = "\(directory)/held"
            try writeProgram("#!/bin/sh\n", to: path)
            let holder = try OwnedDescriptor(opening: path, flags: O_RDWR)
            ignoreLeaseBreaks()
            let setLease: Int32 = 1024  // F_SETLEASE
            var request = SpawnRequest(executable: path, arguments: ["held"])
            // A starved machine may take longer to reach that step.
            for limit in [3, 15, 40] {
                _ = fcntl(holder.number, setLease, F_UNLCK)
                guard fcntl(holder.number, setLease, F_WRLCK) == 0 else { return print("not tested: no leases") }
                request.launchLimit = .seconds(limit)
                let error = try failure(request)
                #expect(error.errno == .timedOut)
                if error.stage == .execute { return }
            }
            Issue.record("no launch came to the execution of its program")
        }
    }
}
