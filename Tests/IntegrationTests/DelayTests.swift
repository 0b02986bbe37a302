// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

/// A delay whose length another party decides.
private enum Delay: String, CaseIterable, Sendable {
    case workingDirectory = "a working directory that does not answer"
    case program = "a program file that does not answer"
    case environmentFile = "an environment file that does not answer"
    case output = "an output file that does not answer"
    case futexWord = "a futex word in a file that does not answer"
    case stack = "a stack in a file that does not answer: a stuck capture"
    case passedDescriptors = "passed sockets that linger when they are closed"
    case connections = "200 connections that send a byte a second"
    case userDatabase = "a user database that does not answer"
    case stoppedChild = "children that are stopped before they execute"
    case journal = "a journal that does not read"
    case fullDisk = "a full disk"
    case frozenDisk = "a disk that does not answer"

    /// Mounts, other users and their databases need root.
    var needsRoot: Bool {
        switch self {
        case .passedDescriptors, .connections: false
        default: true
        }
    }

    /// Whether it can delay the daemon of this mode.
    func concerns(_ mode: DelayBed.Mode) -> Bool {
        switch self {
        // Only the system's daemon looks up other users.
        case .userDatabase: mode == .system
        // Only a user's daemon keeps its state in a folder of the test.
        case .fullDisk: mode == .user
        default: true
        }
    }
}

extension EndToEnd {
    /// The loop's thread makes no call whose duration another party decides.
    @Suite("Delays by others")
    struct DelayTests {
        @Test(
            "A hang is killed in time, whatever delays others", arguments: Delay.allCases,
            [DelayBed.Mode.system, .user])
        fileprivate func supervision(_ delay: Delay, mode: DelayBed.Mode) throws {
            guard delay.concerns(mode) else { return }
            guard hasAllRights || !delay.needsRoot && mode == .user else {
                return print("skipped: \(delay.rawValue), \(mode), needs root")
            }
            let bed = try DelayBed(Scratch(), mode)
            guard try bed.isPossible else { return print("skipped: an ordinary user cannot enter the checkout") }
            guard try begin(delay, in: bed) else { return }
            try bed.expectSupervision(delay.rawValue)
            try bed.end()
        }

        /// Starts the daemon and the delay; false if that is not possible here.
        private func begin(_ delay: Delay, in bed: DelayBed) throws -> Bool {
            switch delay {
            case .workingDirectory: try beginFile("WorkingDirectory=", "access", in: bed)
            case .program: try beginFile("ExecStart=", "open", in: bed)
            case .environmentFile: try beginFile("EnvironmentFile=", "open", in: bed)
            case .output: try beginFile("StandardOutput=append:", "open", in: bed)
            case .futexWord: try beginMemory("futex", in: bed)
            case .stack: try beginMemory("stack", in: bed)
            case .passedDescriptors: try beginPassing(in: bed)
            case .connections: try beginConnections(in: bed)
            case .userDatabase: try beginLookups(in: bed)
            case .stoppedChild: try beginStops(in: bed)
            case .journal: return try beginJournal(in: bed)
            case .fullDisk: return try beginFullDisk(in: bed)
            case .frozenDisk: return try beginFrozenDisk(in: bed)
            }
            return true
        }

        // MARK: - Files

        /// Launches apps with files on a file system that does not answer.
        private func beginFile(_ key: String, _ operation: String, in bed: DelayBed) throws {
            let folder = try bed.mountSilent(operation, at: "silent")
            let place = key.hasPrefix("Working") ? folder : "\(folder)/file"
            let lines = key.hasPrefix("ExecStart") ? ["\(key)\(place)"] : ["ExecStart=/bin/true", "\(key)\(place)"]
            let app = (["[App]"] + lines + ["Enabled=no", "[Restart]", "Policy=never", ""]).joined(separator: "\n")
            let names = (0..<3).map { "stuck-\($0)" }
            try bed.start(Dictionary(uniqueKeysWithValues: names.map { ($0, app) }))
            for name in names { try bed.launch(name) }
            try bed.awaitSilence(in: folder)
        }

        /// Makes apps hang whose memory cannot be read.
        private func beginMemory(_ mode: String, in bed: DelayBed) throws {
            let folder = try bed.mountSilent("read", at: "silent")
            // Captures run one after the other, so several stuck ones use up their budgets in turn.
            let names = (0..<(mode == "stack" ? 1 : 2)).map { "stuck-\($0)" }
            let app = bed.app("\(mode) \(folder)/file", isEnabled: false)
            try bed.start(Dictionary(uniqueKeysWithValues: names.map { ($0, app) }))
            for name in names { try bed.launch(name) }
            #expect(try eventually { try names.allSatisfy { try bed.isRunning($0) } })
            for name in names { kill(try bed.pid(of: name), SIGUSR1) }
            try bed.awaitSilence(in: folder)
        }

        /// Fills the disk for the reports and the state of apps.
        private func beginFullDisk(in bed: DelayBed) throws -> Bool {
            for name in ["reports", "runtime"] {
                let folder = try bed.scratch.makeDirectory(name, mode: 0o700)
                let mount = try Program(["mount", "-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", folder])
                guard try mount.end() == .exited(code: 0) else { return skip("no tmpfs: \(mount.text(.errors))") }
                bed.atEnd { umount2(folder, 2) }
            }
            _ = try bed.scratch.makeDirectory("apps")
            try bed.start()
            for name in ["reports", "runtime"] {
                let filler = try Program(shell("cat /dev/zero >\"$1\"/filler", bed.scratch[name]))
                #expect(try filler.end() != .exited(code: 0), "the disk is not full")
            }
            return true
        }

        /// Freezes the file system of the reports.
        private func beginFrozenDisk(in bed: DelayBed) throws -> Bool {
            let folder = try bed.scratch.makeDirectory("reports")
            let making = try Program(
                shell(
                    "truncate -s 8M \"$1\" && mkfs.ext4 -q \"$1\" && mount -o loop \"$1\" \"$2\"", bed.scratch["disk"],
                    folder))
            guard try making.end() == .exited(code: 0) else {
                return skip("no loop device: \(making.text(.errors))")
            }
            bed.atEnd { umount2(folder, 2) }
            try bed.start()
            let freezing = try Program(["fsfreeze", "--freeze", folder])
            guard try freezing.end() == .exited(code: 0) else { return skip(freezing.text(.errors)) }
            bed.atEnd { _ = try? Program(["fsfreeze", "--unfreeze", folder]).end() }
            return true
        }

        private func skip(_ reason: String) -> Bool {
            print("skipped: \(reason)")
            return false
        }

        // MARK: - Sockets

        private func beginPassing(in bed: DelayBed) throws {
            let app = """
                [App]
                ExecStart=/usr/bin/python3 \(quoted("\(subjects)/lingering.py"))
                Environment=CONTROL=\(bed.scratch["control"])
                Environment=\(quoted("PYTHONPATH=\(subjects)"))
                StandardError=file:\(bed.scratch["passing-errors"])
                Enabled=no
                [Watchdog]
                Ping=100ms
                [Restart]
                Policy=never
                """
            try bed.start(["passing": app])
            try bed.launch("passing")
            #expect(
                eventually { bed.scratch.exists("passed") }, "\(bed.scratch.read("passing-errors") ?? "not launched")")
        }

        private func beginConnections(in bed: DelayBed) throws {
            try bed.start()
            let crowd = bed.keep(
                try Program(python("exec(open(sys.argv[1]).read())", "\(subjects)/crowd.py", bed.scratch["control"])))
            try crowd.line("connected")
        }

        private func beginJournal(in bed: DelayBed) throws -> Bool {
            let folder = try bed.scratch.makeDirectory("journal")
            let journal = bed.keep(
                try Program(
                    python(
                        """
                        os.chdir(sys.argv[1])
                        entries = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                        entries.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                        entries.bind("socket")
                        os.chmod("socket", 0o666)
                        streams = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                        streams.bind("stdout")
                        os.chmod("stdout", 0o666)
                        streams.listen(30)
                        say("listening")
                        hang()
                        """, folder)))
            try journal.line("listening")
            let names = (0..<20).map { "talker-\($0)" }
            let app = """
                [App]
                ExecStart=/bin/sh -c 'while :; do echo one more line of output; done'
                Enabled=no
                [Restart]
                Policy=never
                """
            try bed.start(
                Dictionary(uniqueKeysWithValues: names.map { ($0, app) }),
                wrapper: [
                    "unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
                    "mkdir -p /run/systemd/journal && mount --bind \"$0\" /run/systemd/journal && exec \"$@\"", folder,
                ])
            for name in names { try bed.launch(name) }
            // The number of write(2) on x86-64.
            let isHeld = try eventually {
                let apps = try bed.service.client.list().apps
                return apps.contains { app in
                    app.name.hasPrefix("talker-") && app.pid.map { Self.isCalling("1 ", $0) } ?? false
                }
            }
            #expect(isHeld, "no app waits for the journal")
            return true
        }

        // MARK: - Processes

        /// Whether a process's first thread waits in a system call.
        private static func isCalling(_ call: String, _ process: Int32) -> Bool {
            contents(of: "/proc/\(process)/syscall")?.starts(with: call.utf8) ?? false
        }

        private func beginLookups(in bed: DelayBed) throws {
            try DelayBed.compile(
                ["-shared", "-fPIC", "\(subjects)/sleepy_nss.c"], to: bed.scratch["libnss_sleepy.so.2"])
            try bed.scratch.write("passwd: files sleepy\ngroup: files sleepy\n", to: "nsswitch.conf")
            let names = (0..<3).map { "stuck-\($0)" }
            let app = "[App]\nExecStart=/bin/true\nUser=nobody-knows\nEnabled=no\n[Restart]\nPolicy=never\n"
            try bed.start(
                Dictionary(uniqueKeysWithValues: names.map { ($0, app) }),
                wrapper: [
                    "unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
                    "mount --bind \"$0\" /etc/nsswitch.conf && exec \"$@\"", bed.scratch["nsswitch.conf"],
                ],
                environment: ["LD_LIBRARY_PATH": bed.scratch.path, "SLEEPY_NSS_ASKED": bed.scratch["asked"]])
            for name in names { try bed.launch(name) }
            #expect(eventually { bed.scratch.exists("asked") }, "nobody asks the database")
        }

        /// Launches apps in a folder that answers late, and stops their processes meanwhile.
        private func beginStops(in bed: DelayBed) throws {
            let folder = try bed.mountSilent("access", at: "silent")
            let names = (0..<3).map { "stuck-\($0)" }
            let app = "[App]\nExecStart=/bin/true\nWorkingDirectory=\(folder)\nEnabled=no\n[Restart]\nPolicy=never\n"
            try bed.start(Dictionary(uniqueKeysWithValues: names.map { ($0, app) }))
            for name in names { try bed.launch(name) }
            var unborn: [Int32] = []
            let isWaiting = eventually {
                unborn = ProcessFacts.all.filter { Self.entersFolder($0, for: bed.service.program.pid) }
                return !unborn.isEmpty
            }
            try #require(isWaiting, "no child waits for the folder")
            for process in unborn {
                kill(process, SIGSTOP)
                // It stops when it returns from the kernel, which is when the folder answers.
                #expect(Self.isToldToStop(process), "\(process)")
            }
        }

        /// Whether a process is a child of the daemon or of its launcher, and waits in chdir(2).
        private static func entersFolder(_ process: Int32, for daemon: Int32) -> Bool {
            guard let parent = ProcessStat.read(process)?.parent,
                parent == daemon || ProcessStat.read(parent)?.parent == daemon
            else { return false }
            // The number of chdir(2) on x86-64.
            return isCalling("80 ", process)
        }

        /// Whether a process has SIGSTOP pending, or is stopped.
        private static func isToldToStop(_ process: Int32) -> Bool {
            if ProcessStat.read(process)?.state == .stopped { return true }
            let lines = String(decoding: contents(of: "/proc/\(process)/status") ?? [], as: UTF8.self)
            guard let line = lines.split(separator: "\n").first(where: { $0.hasPrefix("ShdPnd:") }),
                let pending = UInt64(line.dropFirst("ShdPnd:".count).filter { !$0.isWhitespace }, radix: 16)
            else { return false }
            return pending & 1 << UInt64(SIGSTOP - 1) != 0
        }
    }
}
