// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("watchdogd sample and watchdogd capture")
    struct SampleCommandTests {
        private func hangMain(_ how: String) throws -> Program {
            let program = try Program([product("HangMain"), "--how", how, "--after", "0"])
            try program.line("HangMain: ready")
            // It hangs a moment after its message.
            let isHung = eventually {
                if how == "spin" { return ProcessStat.read(program.pid)?.state == .running }
                // In futex(2) or clock_nanosleep(2), not in the poll(2) of its main loop.
                return isStuck(program.pid, in: [202, 230])
            }
            #expect(isHung)
            return program
        }

        private func watchdogd(_ arguments: [String]) throws -> (code: Int32, output: String, errors: String) {
            let program = try Program([product("watchdogd")] + arguments)
            let status = try program.end()
            return (status.code ?? -1, program.text(.output), program.text(.errors))
        }

        @Test("a thread that computes is stopped for its stack, and counts as running on a CPU")
        func spinning() throws {
            let app = try hangMain("spin")
            let result = try watchdogd(["sample", "--for", "1s", "\(app.pid)"])
            #expect(result.code == 0, "\(result.errors)")
            #expect(result.output.hasPrefix("Sampled HangMain [\(app.pid)]\n"))
            #expect(result.output.contains("\nSamples:  "))
            #expect(result.output.contains("sumPrimes"), "\(result.output)")
            #expect(result.output.contains("renderChart"))
            #expect(result.output.contains("[on CPU]"))
        }

        @Test("with --no-stop nothing is stopped, and a thread that computes has no stack")
        func noStop() throws {
            let app = try hangMain("spin")
            let result = try watchdogd(["sample", "--no-stop", "--for", "1s", "\(app.pid)"])
            #expect(result.output.contains("none, no thread was stopped"))
            #expect(!result.output.contains("sumPrimes"))
            #expect(result.output.contains("on CPU"))
        }

        @Test("sleeping threads are never stopped, and have complete stacks")
        func blocked() throws {
            let app = try hangMain("deadlock")
            let result = try watchdogd(["sample", "--for", "200ms", "--format", "collapsed", "\(app.pid)"])
            let lines = result.output.split(separator: "\n")
            let main = try #require(lines.first { $0.hasPrefix("HangMain-\(app.pid);") })
            for function in ["saveSettings", "updateIndex", "lockIndex", "[blocked in futex] "] {
                #expect(main.contains(function), "\(main)")
            }
            #expect(lines.contains { $0.hasPrefix("indexer-") && $0.contains("[blocked in futex] ") })
            let json = try watchdogd(["sample", "--for", "100ms", "--format", "json", "\(app.pid)"]).output
            #expect(json.contains("\"stops\" : 0,"))
        }

        @Test("capture prints the classic text without stopping the process, with the main thread's wait")
        func capture() throws {
            let app = try hangMain("deadlock")
            let result = try watchdogd(["capture", "\(app.pid)"])
            #expect(result.code == 0, "\(result.errors)")
            #expect(!result.output.contains("Exception Type") && !result.output.contains("Crashed:"))
            #expect(result.output.contains("\nThread 0 (main):\n"))
            #expect(result.output.contains("held by thread"))
            #expect(result.output.contains("Stacks: taken without stopping the process"))
            #expect(result.output.contains("lockIndex"))

            let folder = try Scratch()
            let written = try watchdogd(["capture", "--stop", "--reports", folder.path, "\(app.pid)"])
            let path = try #require(written.output.split(separator: "\n").first.map(String.init))
            let report = try ReportCoding.decode(try #require(contents(of: path)))
            #expect(report.body.linux?.kind == .capture)
            #expect(report.metadata.linux?.event == "capture")
            #expect(report.body.isSimulated == 1)
            #expect(report.body.linux?.capture?.method == .procfsRegisters)
            #expect(report.body.termination == nil)
            #expect(kill(app.pid, 0) == 0, "it runs on")
        }

        @Test("a target that cannot be sampled is reported in one line", arguments: ["sample", "capture"])
        func refusals(command: String) throws {
            let absent = try watchdogd([command, "4194304"])
            #expect(absent.code == 66)
            #expect(absent.errors == "watchdogd: there is no process 4194304\n")
            let wrong = try watchdogd([command, "0"])
            #expect(wrong.code == 64)
            #expect(wrong.errors.contains("0 is not a process ID"))
        }

        @Test("a process of another user is rejected with the missing permission")
        func foreign() throws {
            guard geteuid() == 0 else {
                print("skipped: only root can become another user")
                return
            }
            let app = try hangMain("sleep")
            // The user nobody may not be able to reach the build folder.
            let program = try Program([
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
                "exec /proc/self/fd/9 sample \(app.pid) 9< \(shellWord(product("watchdogd")))",
            ])
            _ = try program.end()
            let refusal = program.text(.errors)
            guard refusal.contains("watchdogd: ") else {
                print("skipped: nobody cannot run watchdogd here: \(refusal)")
                return
            }
            #expect(refusal.contains("not permitted to read process \(app.pid)"))
            #expect(refusal.contains("CAP_SYS_PTRACE"))
        }
    }
}
