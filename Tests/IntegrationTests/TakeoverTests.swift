// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux

extension EndToEnd {
    /// A process that holds the control socket, and does not answer.
    @Suite("A watchdogd that cannot exit", .enabled(if: hasAllRights, "FUSE needs root"))
    struct TakeoverTests {
        /// A program that holds the control socket's lock, and then does nothing, or waits for FUSE.
        private func holder(_ mode: String, _ scratch: Scratch, file: String = "") throws -> Program {
            let holder = try Program(["/usr/bin/python3", "\(subjects)/holder.py", mode, scratch["control.lock"], file])
            try holder.line("held")
            return holder
        }

        /// The error of a `serve` that does not start.
        private func refusal(_ scratch: Scratch) throws -> String {
            let began = Instant.now()
            let other = try Program([
                product("watchdogd"), "serve", "--user", "--config", scratch.path, "--control", scratch["control"],
                "--reports", scratch["reports"],
            ])
            #expect(try other.end() == .exited(code: 69))
            #expect(Instant.now() - began < patience)
            return other.text(.errors)
        }

        private func waitsForFUSE(_ process: Int32) -> Bool {
            Procfs.threads(of: process).contains { WaitChannel.read(process, thread: $0) == "request_wait_answer" }
        }

        @Test("is named if it is stopped, with a remedy, and otherwise too")
        func stopped() throws {
            let scratch = try Scratch()
            let holder = try holder("wait", scratch)
            let path = scratch["control"]
            let pid = holder.pid
            #expect(
                try refusal(scratch)
                    == "watchdogd: another watchdogd serves \(path) (process \(pid)); 'watchdogd list' shows what it runs\n"
            )
            try holder.send(SIGSTOP)
            try #require(eventually { ProcessStat.read(pid)?.state == .stopped })
            #expect(
                try refusal(scratch)
                    == "watchdogd: another watchdogd holds \(path), and process \(pid) is stopped (state T); "
                    + "'kill -CONT \(pid)' continues it, 'kill -KILL \(pid)' ends it\n")
            try holder.send(SIGKILL)
            _ = try holder.end()
        }

        @Test("is named while the kernel blocks it, and replaced once it is killed", arguments: ["main", "thread"])
        func heldUp(mode: String) throws {
            let scratch = try Scratch()
            let bed = try DelayBed(scratch, .ownUser)
            let folder = try bed.mountSilent("flush", at: "silent")
            // It cannot exit before the file system that it waits for.
            defer { umount2(folder, 1 /* MNT_FORCE: requests fail */) }
            let holder = try holder(mode, scratch, file: "\(folder)/file")
            let pid = holder.pid
            try bed.awaitSilence(in: folder)
            if mode == "main" {
                try holder.send(SIGUSR1)
                try #require(eventually { ProcessStat.read(pid)?.state == .uninterruptible })
                #expect(
                    try refusal(scratch)
                        == "watchdogd: another watchdogd holds \(scratch["control"]), and process \(pid) is blocked in "
                        + "the kernel in request_wait_answer (state D); 'kill -KILL \(pid)' gives it up\n")
            } else {
                try #require(eventually { ProcessStat.read(pid)?.state == .zombie })
            }
            try holder.send(SIGKILL)
            try #require(eventually { ProcessCondition.of(pid) == .beyondReturn })
            try bed.start()
            #expect(kill(pid, 0) == 0 && waitsForFUSE(pid), "it is still there")
            // The successor has its own lock.
            let another = try refusal(scratch)
            #expect(another.contains("(process \(bed.service.program.pid))"), "\(another)")
            #expect(try bed.service.command("list").code == 0)
            try bed.end()
            _ = try holder.end()
        }

        @Test("keeps running and reports a thread blocked in the kernel, and re-executes itself once that is released")
        func refusedReexecution() throws {
            let bed = try DelayBed(Scratch())
            let folder = try bed.mountSilent("open", at: "silent")
            let app =
                "[App]\nExecStart=/bin/true\nEnvironmentFile=\(folder)/file\nEnabled=no\n[Restart]\nPolicy=never\n"
            try bed.start(["stuck": app])
            let daemon = bed.service.program
            try bed.launch("stuck")
            try bed.awaitSilence(in: folder)
            let before = image(of: daemon.pid)
            try daemon.send(SIGUSR2)
            let said = try daemon.line("cannot execute the program again", on: .errors)
            #expect(said.contains("is blocked in request_wait_answer; this watchdogd keeps running"), "\(said)")
            #expect(image(of: daemon.pid) == before)
            #expect(try bed.service.command("list").code == 0)
            umount2(folder, 1 /* MNT_FORCE: requests fail */)
            try #require(eventually { !waitsForFUSE(daemon.pid) })
            try daemon.send(SIGUSR2)
            #expect(eventually { image(of: daemon.pid) != before })
            #expect(try eventually { try bed.service.command("list").code == 0 })
            try bed.end()
        }
    }
}

/// Different for each program that a process executes, because its addresses are random.
func image(of process: Int32) -> [UInt8]? { contents(of: "/proc/\(process)/auxv") }
