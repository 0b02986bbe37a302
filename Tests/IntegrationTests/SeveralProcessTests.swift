// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogReport
import WatchdogVerdict

extension EndToEnd {
    @Suite("Programs with several processes")
    struct SeveralProcessTests {
        /// A master that waits for three workers, one of which is blocked in a read.
        private static let server = python(
            """
            def wait_for_work():
                while True: time.sleep(100)
            def read_request(descriptor):
                os.read(descriptor, 1)
            def reap_workers():
                os.wait()
            end, other = os.pipe()
            there, arrival = os.pipe()
            for number in range(3):
                if os.fork() == 0:
                    with open("/proc/self/comm", "w") as file: file.write(f"worker-{number}")
                    notify(f"STATUS={number}")
                    os.write(arrival, b"x")
                    read_request(end) if number == 1 else wait_for_work()
            for number in range(3): os.read(there, 1)
            time.sleep(0.2)
            notify("READY=1", "WATCHDOG=1")
            reap_workers()
            """)

        @Test("A report has the stacks of a preforking server's workers", arguments: ["kill", "report"])
        func preforking(enforcement: String) throws {
            let run = try Supervision(["--update", "500ms", "--enforce", enforcement], Self.server)
            if enforcement == "report" {
                try run.line("] reported: did not answer within 500 ms", on: .errors)
                try run.send(SIGTERM)
            }
            let ending = try run.end()
            let report = try #require(ending.reports.first)
            let linux = try #require(report.body.linux)
            let processes = try #require(linux.processes)
            #expect(processes.map(\.name).sorted() == ["worker-0", "worker-1", "worker-2"])
            for process in processes {
                #expect(process.parentPid == report.body.pid)
                #expect(process.commandLine.first == "/usr/bin/python3")
                #expect(process.failure == nil)
                #expect(process.threads.map(\.id) == [process.pid])
                let calls = try #require(process.stacks.first?.calls)
                #expect(calls.contains { $0.function?.contains("Py") == true }, "\(calls.map(\.name))")
            }
            let reader = try #require(processes.first { $0.name == "worker-1" })
            #expect(reader.stacks.first?.systemCall?.name == "read")
            #expect(reader.stacks.first?.decisive.first?.name == "read_request")
            #expect(reader.waits?.first?.subject?.contains("pipe") == true, "\(reader)")
            // The main process has the same content as without workers.
            #expect(report.faultingStack?.systemCall?.name == "wait4")
            #expect(linux.capture?.method == (enforcement == "kill" ? .ptrace : .procfsRegisters))
            #expect(linux.kill.outcome == (enforcement == "kill" ? "verified" : "none"))
        }

        @Test("Under a shell, the report is about the program that answers pings", arguments: ["", "timeout 100 "])
        func wrapped(by wrapper: String) throws {
            let ending = try supervise(
                ["--update", "500ms", "--ping", "100ms"],
                ["/bin/sh", "-c", "\(wrapper)\(shellWord(product("HangMain"))) --how semaphore --after 0.1; true"])
            let report = try #require(ending.reports.first)
            let linux = try #require(report.body.linux)
            #expect(report.body.procName == "sh")
            #expect(report.body.procPath == product("HangMain"))
            #expect(report.faultingStack?.calls.contains { $0.function?.contains("waitForDownload()") == true } == true)
            #expect(linux.verdict.line.contains("blocked"))
            #expect(linux.notes.contains { $0.contains("which answers pings") }, "\(linux.notes)")
            #expect(linux.kill.outcome == "verified")
            let processes = try #require(linux.processes)
            #expect(processes.map(\.name) == (wrapper.isEmpty ? ["sh"] : ["sh", "timeout"]))
            #expect(processes.last?.pid == report.body.parentPid)
            #expect(processes.first?.stacks.first?.systemCall?.name == "wait4")
        }

        @Test("A program that answers pings itself is the subject, whatever its children send")
        func child() throws {
            let ending = try supervise(
                ["--update", "500ms"],
                python(
                    """
                    connection = channel()
                    connection.send(b"HELLO=1\\nREADY=1")
                    if os.fork() == 0:
                        connection.send(b"HELLO=1")
                        hang()
                    os.wait()
                    """))
            let report = try #require(ending.reports.first)
            #expect(report.faultingStack?.systemCall?.name == "wait4")
            #expect(report.body.linux?.processes?.map(\.parentPid) == [report.body.pid])
        }
    }
}
