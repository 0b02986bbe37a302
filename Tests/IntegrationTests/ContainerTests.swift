// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

/// The effects of container engines on a process, reproduced by hand: dropped capabilities, a read-only root, and
/// mounts of single files.
extension EndToEnd {
    @Suite(
        "As the first process of a container", .enabled(if: hasAllRights, "mount namespaces and capabilities need root")
    )
    struct ContainerTests {
        private static let hang = ["--update", "700ms", "--ping", "100ms"]
        private let hanging = [product("HangMain"), "--how", "sleep", "--after", "0.2"]

        /// A command that runs the next one in a new mount namespace, after a piece of shell in which `$0` is the
        /// scratch directory.
        private func inNamespace(_ preparation: String, _ scratch: Scratch) -> [String] {
            [
                "unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", "\(preparation)\nexec \"$@\"",
                scratch.path,
            ]
        }

        @Test(
            "Root that may not switch users still names the frames, without any capability",
            arguments: ["-all", "-setuid,-setgid", "-setgid"])
        func rootWithoutCapabilities(bounding: String) throws {
            let run = try Supervision(
                Self.hang, hanging, wrapper: ["setpriv", "--inh-caps=-all", "--bounding-set=\(bounding)"])
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            let report = try #require(ending.reports.first)
            let main = report.body.threads[report.body.faultingThread]
            #expect(main.frames.contains { $0.symbol?.contains("waitForServer") == true })
            let notes = report.body.linux?.notes ?? []
            #expect(notes.contains { $0.contains("named as root without capabilities") }, "\(notes)")
        }

        @Test("Root that may not trace others still reports its own program's wait and the holder")
        func rootWithoutTracing() throws {
            let run = try Supervision(
                Self.hang, [product("HangMain"), "--how", "deadlock", "--after", "0.2"],
                wrapper: ["setpriv", "--inh-caps=-all", "--bounding-set=-sys_ptrace"])
            let report = try #require(try run.end().reports.first)
            let waits = report.body.linux?.waits ?? []
            #expect(waits.first?.holder?.name == "indexer", "\(waits)")
            #expect(report.body.linux?.verdict.line.contains("deadlock") == true)
        }

        @Test("Root that may switch users does so, and needs no note")
        func root() throws {
            let report = try #require(try supervise(Self.hang, hanging).reports.first)
            #expect(report.body.linux?.notes.contains { $0.contains("named as root") } == false)
        }

        /// Everything is read-only except the scratch directory, in which no place is searched by default.
        private let readOnly = """
            mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp
            mount --bind "$0" "$0"; mount -o remount,bind,rw "$0"
            mount -t tmpfs -o ro tmpfs /run
            """
        private let unwritable = ["TMPDIR": "/proc", "XDG_RUNTIME_DIR": "/proc"]

        @Test("With a read-only root and /tmp, the sockets move to /dev/shm, or to the reports folder")
        func readOnlyRoot() throws {
            for shm in ["mount -t tmpfs tmpfs /dev/shm", "mount -t tmpfs -o ro tmpfs /dev/shm"] {
                let scratch = try Scratch()
                let run = try Supervision(
                    Self.hang, hanging, environment: unwritable, wrapper: inNamespace("\(readOnly)\n\(shm)", scratch),
                    scratch: scratch)
                let ending = try run.end()
                #expect(ending.exitCode == 137, "\(ending.errors)")
                #expect(ending.reports.count == 1)
                #expect(ending.summary?.launch?.source == "channel")
            }
        }

        @Test("If no place is writable, one line names every place tried, and the remedy")
        func nothingWritable() throws {
            let scratch = try Scratch()
            let reports = try scratch.makeDirectory("r")
            let script = """
                \(readOnly)
                mount -t tmpfs -o ro tmpfs /dev/shm
                exec "$@"
                """
            var environment = testEnvironment()
            for (name, value) in unwritable { environment[name] = value }
            let program = try Program(
                [
                    "unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec", script, scratch.path,
                    product("watchdogd"), "run", "--reports", "none", "--", "/bin/true",
                ], environment: environment)
            #expect(try program.end().code == 125)
            let errors = program.text(.errors)
            #expect(errors.split(separator: "\n").count == 1, "\(errors)")
            #expect(
                errors.contains("create a directory for sockets in any of /proc, /tmp, /dev/shm; set TMPDIR"),
                "\(errors)")
            #expect(names(in: reports).isEmpty)
        }

        @Test("A summary for a mounted file is written into that file")
        func mountedFile() throws {
            let scratch = try Scratch()
            let log = try scratch.write("what was there before, and is longer than nothing", to: "log")
            let mounted = #"mkdir "$0/ro"; : > "$0/ro/log"; mount --bind "$0/log" "$0/ro/log""#
            let run = try Supervision(
                ["--json", scratch["ro/log"]], ["/bin/true"], wrapper: inNamespace(mounted, scratch), scratch: scratch)
            #expect(try run.end().exitCode == 0)
            let text = try #require(contents(of: log).map { String(decoding: $0, as: UTF8.self) })
            #expect(text.hasPrefix("{\n") && text.hasSuffix("}\n") && text.contains("\"exitCode\" : 0"), "\(text)")
        }

        // MARK: - Termination messages

        /// A file as Kubernetes mounts it, in a folder where nothing can be created.
        private let mountedLog = #"""
            : > "$0/message"; mkdir "$0/dev"; : > "$0/dev/log"; mount --bind "$0/message" "$0/dev/log"
            """#

        @Test("A kill leaves its message in the mounted file, in place")
        func termination() throws {
            let scratch = try Scratch()
            let run = try Supervision(
                Self.hang + ["--termination-message=\(scratch["dev/log"])"], hanging,
                wrapper: inNamespace(mountedLog, scratch), scratch: scratch)
            let ending = try run.end()
            #expect(ending.exitCode == 137)
            let lines = try #require(scratch.read("message")).split(separator: "\n").map(String.init)
            let report = try #require(ending.reports.first)
            #expect(lines.first?.hasSuffix("killed: did not answer within 700 ms (0x8badf00d)") == true, "\(lines)")
            #expect(lines.contains("Event: scene-update"))
            #expect(lines.contains { $0.hasPrefix("Fault: app") })
            #expect(lines.contains { $0.hasPrefix("From: ") && $0.contains("waitForServer") }, "\(lines)")
            #expect(lines.suffix(2) == ["Incident: \(report.body.incident)", "Report: \(ending.reportPaths[0])"])
        }

        @Test("A crash leaves a short message, and an exit leaves none")
        func terminationOfOthers() throws {
            let scratch = try Scratch()
            let message = scratch["message"]
            let exited = try Supervision(["--termination-message", message], shell("exit 3"), scratch: scratch).end()
            #expect(exited.exitCode == 3)
            #expect(!scratch.exists("message"))
            let other = try Scratch()
            let crashed = try Supervision(
                ["--crash-reports", "off", "--termination-message", other["message"]], shell("kill -SEGV $$"),
                scratch: other
            ).end()
            #expect(crashed.exitCode == 139)
            #expect(other.read("message") == "sh[\(crashed.summary?.pid ?? 0)] was killed by SIGSEGV\n")
        }

        @Test("A message that cannot be written causes one warning, and no failure")
        func terminationImpossible() throws {
            let ending = try supervise(Self.hang + ["--termination-message", "/proc/none/log"], hanging)
            #expect(ending.exitCode == 137)
            #expect(ending.reports.count == 1)
            let warnings = ending.errors.filter { $0.contains("termination message") }
            #expect(warnings.count == 1, "\(ending.errors)")
            #expect(warnings.first?.contains("/proc/none/log") == true)
        }

        // MARK: - Grace periods

        @Test(
            "A grace period that is too short for a crash log causes one warning, wherever it is set",
            arguments: [
                (["--grace-period", "3s"], [:], true), (["--grace-period", "3001ms"], [:], false), ([], [:], false),
                ([], ["WATCHDOGD_GRACE_PERIOD": "3s"], true), ([], ["WATCHDOGD_GRACE_PERIOD": "30s"], false),
                (["--grace-period", "30s"], ["WATCHDOGD_GRACE_PERIOD": "3s"], false),
            ] as [([String], [String: String], Bool)])
        func gracePeriod(_ options: [String], _ variables: [String: String], _ warns: Bool) throws {
            let ending = try supervise(["--terminate", "1s"] + options, shell("exit 3"), environment: variables)
            #expect(ending.exitCode == 3)
            let warning =
                "watchdogd: the grace period (3 s) is not longer than the terminate allowance (1 s) and a capture (2 s) "
                + "together: a program that does not end in time is killed without a crash log"
            #expect(ending.errors.filter { $0.contains("grace period") } == (warns ? [warning] : []))
        }

        @Test("An invalid grace period in the environment is rejected")
        func wrongGracePeriod() throws {
            let program = try Program(["env", "WATCHDOGD_GRACE_PERIOD=30", product("watchdogd"), "run", "--", "true"])
            #expect(try program.end().code == 64)
            #expect(program.text(.errors).contains("WATCHDOGD_GRACE_PERIOD: \"30\" has no unit; write 30s"))
        }

        // MARK: - Logs

        private struct Line: Decodable {
            let time, level, message: String
            let app, kind, event, verdict, fault, incident, report, version, text: String?
            let pid: Int32?
        }

        private func lines(_ ending: Ending) throws -> [Line] {
            try ending.errors.filter { $0.hasPrefix("{") }.map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
        }

        @Test("As JSON, each message is one object, and the program's own lines stay unchanged")
        func json() throws {
            let environment = ["POD_NAME": "cart-1", "POD_NAMESPACE": "shop", "NODE_NAME": "not a name"]
            let options = Self.hang + ["--log-format", "json", "--verbose", "--app-version", "2.3"]
            let run = try Supervision(
                options, ["/bin/sh", "-c", #"echo "own {line}" >&2; exec "$@""#, "sh"] + hanging,
                environment: environment)
            let ending = try run.end()
            #expect(ending.errors.filter { !$0.hasPrefix("{") } == ["own {line}"])
            let lines = try lines(ending)
            let killed = try #require(lines.first { $0.kind == "killed" })
            let report = try #require(ending.reports.first)
            #expect(killed.level == "error" && killed.app == "sh" && killed.pid == ending.summary?.pid)
            #expect(killed.event == "scene-update" && killed.fault == "app" && killed.version == "2.3")
            #expect(killed.verdict?.hasPrefix("Main thread") == true)
            #expect(killed.incident == report.body.incident && killed.report == ending.reportPaths.first)
            #expect(killed.message.hasSuffix("killed: did not answer within 700 ms (0x8badf00d)"))
            #expect(lines.contains { $0.kind == "ready" && $0.level == "info" })
            #expect(lines.allSatisfy { $0.time.hasSuffix("Z") })
            #expect(report.metadata.appVersion == "2.3")
            #expect(report.body.linux?.workload?.podName == "cart-1")
            #expect(report.body.linux?.workload?.podNamespace == "shop")
            #expect(report.body.linux?.workload?.nodeName == nil)
        }

        @Test("An error is an object too")
        func refusal() throws {
            let ending = try supervise(["--log-format", "json"], ["/nonexistent"])
            #expect(ending.exitCode == 127)
            let lines = try lines(ending)
            #expect(lines.count == 1 && lines.first?.level == "error")
            #expect(lines.first?.message == "/nonexistent: no such file")
        }

        // MARK: - Without report files

        @Test("Without report files, the crash log goes to standard error", arguments: ["text", "json"])
        func withoutFiles(format: String) throws {
            let scratch = try Scratch()
            let run = try Supervision(
                Self.hang + ["--log-format", format, "--expect", "frame waitForServer", "--expect", "0x8badf00d"],
                hanging, scratch: scratch, reports: "none")
            let ending = try run.end()
            #expect(ending.exitCode == 0, "\(ending.errors)")
            #expect(!scratch.exists("none") && !scratch.exists("reports"))
            #expect(ending.summary?.report == nil && ending.summary?.incidents.first?.reportError == nil)
            let text =
                format == "text"
                ? ending.errors.joined(separator: "\n") : try lines(ending).compactMap(\.text).joined()
            #expect(text.contains("Incident Identifier: ") && text.contains("waitForServer"))
            #expect(text.contains("\nBinary Images:\n"))
            if format == "text" { #expect(ending.errors.last == "  the crash log is printed above") }
        }
    }
}
