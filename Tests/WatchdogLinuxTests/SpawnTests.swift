// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Spawning", .reapsChildren)
struct SpawnTests {
    @Test("a program runs, and its pidfd, id and start time match")
    func runs() throws {
        let pipe = try OwnedDescriptor.pipe()
        var request = shell("read line")
        request.descriptors[0].source = pipe.read.number
        let spawned = try spawn(request)
        let stat = try #require(ProcessStat.read(spawned.pid))
        #expect(stat.startTime == spawned.startTime)
        #expect(stat.parent == getpid())
        // execve(2) closes descriptors, which is visible, just before it sets the name.
        #expect(eventually { ProcessStat.read(spawned.pid)?.name == "sh" })
        #expect(try spawned.process.waitExit() == nil)
        try spawned.process.send(SIGTERM)
        let exit = try #require(try waitForExit(spawned.process))
        #expect(exit.status == .signaled(signal: SIGTERM, coreDumped: false))
        #expect(exit.usage != nil)
        withExtendedLifetime(pipe) {}
    }

    @Test("arguments and environment arrive byte for byte")
    func bytes() throws {
        let odd = ByteString(bytes: [0x61, 0xff, 0x0a, 0xfe])
        var request = shell(#"printf '%s|%s' "$1" "$ODD" | od -An -tx1 | tr -d ' \n'"#)
        request.arguments.append(odd)
        request.environment.set("ODD", to: odd)
        #expect(try run(request).output == "61ff0afe7c61ff0afe")
    }

    @Test("64 KiB in one argument arrive")
    func longArgument() throws {
        let result = try run(shell("printf %s \"$1\" | wc -c", String(repeating: "x", count: 64 << 10)))
        #expect(result.output.filter(\.isNumber) == "65536")
    }

    @Test("the environment has exactly the planned variables, and a process id if requested")
    func environment() throws {
        var request = SpawnRequest(executable: "/usr/bin/env", arguments: ["env"], environment: ["B": "2", "A": "1"])
        request.processIdVariables = ["WATCHDOG_PID"]
        let output = try capturingOutput { output throws(SpawnError) in
            request.descriptors[1].source = output.number
            return try spawn(request)
        }
        #expect(output.text == "B=2\nA=1\nWATCHDOG_PID=\(output.spawned.pid)\n")
        _ = try waitForExit(output.spawned.process)
    }

    @Test("the program has exactly the planned descriptors, whatever the supervisor has open")
    func descriptorHygiene() throws {
        let leaks = try (0..<20).map { _ in try OwnedDescriptor(opening: "/dev/null", flags: O_RDONLY) }
        for leak in leaks { _ = fcntl(leak.number, F_SETFD, 0) }
        let listing = "import os; os.write(1, ','.join(sorted(os.listdir('/proc/self/fd'))).encode())"
        var request = SpawnRequest(executable: "/usr/bin/python3", arguments: ["python3", "-c", listing])
        request.descriptors = [
            .init(leaks[0].number, as: 0), .init(2, as: 2), .init(leaks[1].number, as: 7),
        ]
        // 3 is the directory being listed.
        #expect(try run(request).output == "0,1,2,3,7")
        withExtendedLifetime(leaks) {}
    }

    @Test("descriptors can be exchanged, rotated and passed twice", arguments: [false, true])
    func descriptorCycles(shared: Bool) throws {
        let pipes = try (0..<4).map { _ in try OwnedDescriptor.pipe() }
        let numbers = pipes.map(\.write.number)
        // Every write end takes the place of the next one: a cycle of four.
        var request = shell(
            (0..<4).map { "printf \($0) > /proc/self/fd/\(numbers[$0])" }.joined(separator: "; ")
        )
        request.descriptors += (0..<4).map { .init(numbers[($0 + 1) % 4], as: numbers[$0]) }
        if shared { request.descriptors.append(.init(numbers[0], as: 9 + numbers[3])) }
        let spawned = try spawn(request)
        #expect(try waitForExit(spawned.process)?.status == .exited(code: 0))
        for index in 0..<4 {
            var byte: UInt8 = 0
            #expect(read(pipes[(index + 1) % 4].read.number, &byte, 1) == 1)
            #expect(byte == UInt8(ascii: "0") + UInt8(index))
        }
        withExtendedLifetime(pipes) {}
    }

    @Test("signals are unblocked and at their defaults, even ignored ones; the supervisor's stay unchanged")
    func signals() throws {
        let previous = signal(SIGUSR2, SIG_IGN)
        defer { signal(SIGUSR2, previous) }
        var blocked = sigset_t()
        var before = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        let output = try run(SpawnRequest(executable: "/bin/cat", arguments: ["cat", "/proc/self/status"])).output
        let lines = output.split(separator: "\n")
        for name in ["SigBlk", "SigIgn", "SigCgt"] {
            #expect(lines.contains("\(name):\t0000000000000000"))
        }
        var after = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &after)
        #expect(sigismember(&after, SIGUSR1) == 1)
        #expect(sigismember(&after, SIGUSR2) == sigismember(&before, SIGUSR2))
    }

    @Test("a program starts in a new session, a new group or neither")
    func sessions() throws {
        for session: SpawnRequest.Session in [.newSession, .newProcessGroup(foregroundOf: nil), .inherited] {
            var request = SpawnRequest(executable: "/bin/cat", arguments: ["cat", "/proc/self/stat"])
            request.session = session
            let stat = try #require(ProcessStat(parsing: try run(request).output.utf8))
            switch session {
            case .newSession: #expect(stat.session == stat.id && stat.group == stat.id)
            case .newProcessGroup: #expect(stat.session == getsid(0) && stat.group == stat.id)
            case .inherited: #expect(stat.session == getsid(0) && stat.group == getpgrp())
            }
        }
    }

    @Test("directory, mask, niceness, limits, OOM score and no_new_privs apply to the program only")
    func attributes() throws {
        try withTemporaryDirectory { directory in
            let own = Procfs.line("/proc/self/oom_score_adj")
            var request = shell(
                """
                pwd; umask; ulimit -n; ulimit -c; cat /proc/self/oom_score_adj
                cut -d' ' -f19 /proc/self/stat; grep NoNewPrivs /proc/self/status
                """
            )
            request.workingDirectory = ByteString(directory)
            request.fileModeMask = 0o027
            request.niceness = 7
            request.limits = [
                ResourceLimit(.openFiles, soft: 123, hard: 456), ResourceLimit(.core, soft: 0, hard: 0),
            ]
            request.oomScoreAdjustment = 321
            request.noNewPrivileges = true
            let output = try run(request).output
            #expect(output == "\(directory)\n0027\n123\n0\n321\n7\nNoNewPrivs:\t1\n")
            #expect(Procfs.line("/proc/self/oom_score_adj") == own)
            #expect(try ResourceLimit.current(.openFiles).soft != 123)
        }
    }

    @Test(
        "credentials are changed completely, and the supervisor stays traceable",
        .enabled(if: getuid() == 0, "needs root")
    )
    func credentials() throws {
        var request = SpawnRequest(executable: "/bin/cat", arguments: ["cat", "/proc/self/status"])
        request.credentials = Credentials(user: 65534, group: 65533, supplementaryGroups: [100, 200])
        let dumpable = fileOwner("/proc/self/mem")
        let lines = try run(request).output.split(separator: "\n")
        #expect(lines.contains("Uid:\t65534\t65534\t65534\t65534"))
        #expect(lines.contains("Gid:\t65533\t65533\t65533\t65533"))
        #expect(lines.contains { $0.hasPrefix("Groups:\t100 200") })
        #expect(lines.contains("CapEff:\t0000000000000000"))
        #expect(fileOwner("/proc/self/mem") == dumpable)
        #expect(getuid() == 0)
    }

    @Test("root without capabilities passes none to the program", .enabled(if: getuid() == 0, "needs root"))
    func capabilities() throws {
        var request = SpawnRequest(executable: "/bin/cat", arguments: ["cat", "/proc/self/status"])
        request.noNewPrivileges = true
        request.dropsCapabilities = true
        let lines = try run(request).output.split(separator: "\n")
        #expect(lines.contains("Uid:\t0\t0\t0\t0"))
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            #expect(lines.contains { $0 == "\(set):\t0000000000000000" })
        }
        #expect(Credentials.canBeChanged, "only the program loses them")
    }

    private func fileOwner(_ path: String) -> uid_t {
        var information = stat()
        stat(path, &information)
        return information.st_uid
    }

    @Test("a descriptor with a high number is passed twice, and its reader notices the program's exit")
    func highDescriptor() throws {
        let reading: OwnedDescriptor
        do {
            let (readEnd, writeEnd) = try OwnedDescriptor.pipe()
            reading = readEnd
            let output = OwnedDescriptor(
                taking: try check("duplicate") { fcntl(writeEnd.number, F_DUPFD_CLOEXEC, 900) })
            var request = shell("echo one; echo two >&9")
            request.descriptors = [.init(output.number, as: 1), .init(output.number, as: 9)]
            _ = try waitForExit(try spawn(request).process)
        }
        #expect(readToEnd(reading) == "one\ntwo\n")
    }

    @Test("a program starts despite a filter that rejects clone3")
    func withoutClone3() throws {
        var request = shell("echo here")
        request.withoutClone3 = true
        let result = try run(request)
        #expect(result.output == "here\n")
        #expect(result.status == .exited(code: 0))
    }

    @Test("simultaneous launches from several threads do not interfere")
    func concurrentLaunches() async throws {
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<40 {
                group.addTask { try run(shell("echo \(number)")).output }
            }
            var numbers: Set<String> = []
            for try await output in group { numbers.insert(output) }
            #expect(numbers.count == 40)
        }
    }
}
