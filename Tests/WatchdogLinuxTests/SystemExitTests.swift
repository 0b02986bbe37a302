// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("System, in a separate process")
struct SystemExitTests {
    @Test("a program inherits none of the supervisor's precedence")
    func scheduling() async {
        // In a separate process, because other tests must not run with it.
        await #expect(processExitsWith: .success) {
            let before = wd_scheduling_niceness()
            let limit = try ResourceLimit.current(.realTimeWithoutSleep)
            _ = try LauncherProcess.shared()
            let grant = SchedulingGrant.request()
            print("scheduling: \(grant)")
            if geteuid() == 0, case .none = grant.kind { Issue.record("root got nothing") }
            let request = shell("cut -d' ' -f19,41 /proc/self/stat; grep realtime /proc/self/limits")
            let output = try run(request).output
            // Nice value and policy, 0 for SCHED_OTHER: fields 19 and 41 of proc_pid_stat(5).
            #expect(output.hasPrefix("\(before) 0\n"))
            let values = output.split(separator: "\n").last { $0.hasPrefix("Max realtime timeout") }
            let text = limit.soft == ResourceLimit.infinity ? "unlimited" : "\(limit.soft)"
            #expect(values?.contains(text) == true)
        }
    }

    @Test("a real-time loop that never waits is demoted, not killed", .enabled(if: getuid() == 0, "needs root"))
    func demotion() async {
        await #expect(processExitsWith: .success) {
            let grant = SchedulingGrant.request()
            guard case .realTime = grant.kind else { return print("not tested: \(grant)") }
            let end = Instant.now() + patience
            while !SchedulingGrant.wasWithdrawn, Instant.now() < end {}
            #expect(SchedulingGrant.wasWithdrawn)
            #expect(ProcessStat.read(getpid()) != nil)
        }
    }

    @Test("a program in the terminal's foreground reads from it, and the supervisor gets it back")
    func terminal() async {
        // In a separate process that leads a session with a terminal.
        await #expect(processExitsWith: .success) {
            try #require(setsid() > 0)
            // The leader's signal when the terminal goes away.
            signal(SIGHUP, SIG_IGN)
            let main = try OwnedDescriptor(opening: "/dev/ptmx", flags: O_RDWR | O_NOCTTY)
            // TIOCSPTLCK and TIOCGPTN are macros that Swift does not import: ioctl_tty(2).
            var lock: Int32 = 0
            var number: UInt32 = 0
            try #require(ioctl(main.number, 0x4004_5431, &lock) == 0 && ioctl(main.number, 0x8004_5430, &number) == 0)
            let side = try OwnedDescriptor(opening: "/dev/pts/\(number)", flags: O_RDWR)
            let terminal = try #require(Terminal(side.number))
            #expect(terminal.isForeground)

            var request = shell("read line; echo \"got $line\"; read line")
            request.session = .newProcessGroup(foregroundOf: side.number)
            request.descriptors = [
                .init(side.number, as: 0), .init(side.number, as: 1), .init(side.number, as: 2),
            ]
            let spawned = try spawn(request)
            #expect(!terminal.isForeground)
            #expect(terminal.foregroundGroup == spawned.pid)
            write(main.number, "hello\n", 6)
            var output = ""
            var buffer = [UInt8](repeating: 0, count: 256)
            while !output.contains("got hello"), waitReadable(main) {
                let length = read(main.number, &buffer, buffer.count)
                output += String(decoding: buffer.prefix(max(length, 0)), as: UTF8.self)
            }
            #expect(output.contains("got hello"))
            // The interrupt character reaches the program and not the supervisor.
            write(main.number, "\u{3}", 1)
            #expect(try waitForExit(spawned.process)?.status == .signaled(signal: SIGINT, coreDumped: false))
            try terminal.takeForeground()
            #expect(terminal.isForeground)
        }
    }
}
