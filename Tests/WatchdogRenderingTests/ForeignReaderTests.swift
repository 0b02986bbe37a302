// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReportFixtures
import TestSupport
import Testing

@testable import WatchdogRendering
@testable import WatchdogReport
@testable import WatchdogVerdict

/// Reads the project's files with a program made for Apple's.
@Suite("Foreign readers", .reapsChildren)
struct ForeignReaderTests {
    private static let program = """
        import sys
        from pycrashreport.crash_report import get_crash_report_from_file
        with open(sys.argv[1]) as file:
            report = get_crash_report_from_file(file)
        print(type(report).__name__, report.bug_type.name, report.timestamp, report.faulting_thread)
        print(report.exception_type, len(report.registers), len(report.frames), report.incident_id)
        print(report.frames[0].symbol if report.frames else None)
        print(list(report.application_specific_information.values())[0][0])
        print(len(str(report)) > 0)
        """

    /// The interpreter of the project's own environment, or the system's.
    static var interpreter: String {
        let root = (0..<3).reduce(#filePath) { path, _ in TestFiles.folder(of: path) }
        let own = root + "/.build/venv/bin/python3"
        return access(own, X_OK) == 0 ? own : "/usr/bin/python3"
    }

    @Test("pycrashreport reads every kind of report", arguments: Samples.goldens.map(\.name))
    func pycrashreport(name: String) throws {
        guard try Self.run(["-c", "import pycrashreport"]).status == 0 else {
            print("skipped: \(Self.interpreter) has no module pycrashreport (scripts/setup installs it)")
            return
        }
        let report = try #require(Samples.goldens.first { $0.name == name }?.report)
        try TestFiles.withFolder { folder in
            let path = "\(folder)/report.ips"
            try TestFiles.write(try ReportCoding.encode(report), to: path)
            let (status, output) = try Self.run(["-c", Self.program, path])
            let frames = report.body.threads[0].frames
            let registers = report.body.threads[0].threadState?.registers.count ?? 0
            #expect(status == 0, "\(output)")
            #expect(
                output == """
                    UserModeCrashReport Crash_309 2026-11-21 00:20:22.120000 0
                    EXC_CRASH \(registers) \(frames.count) \(report.metadata.incidentID)
                    \(frames.first?.symbol ?? "None")
                    \(report.body.linux?.verdict.line ?? "")
                    True

                    """)
        }
    }

    /// Runs the interpreter to its exit.
    static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        try TestFiles.withFolder { folder in
            let output = "\(folder)/output"
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
            let words = [Self.interpreter] + arguments
            var argv = words.map { strdup($0) } + [nil]
            var environment = [strdup("PYTHONIOENCODING=utf-8"), strdup("PATH=/usr/bin:/bin"), nil]
            defer { for pointer in argv + environment { free(pointer) } }
            var pid: pid_t = 0
            guard posix_spawn(&pid, Self.interpreter, &actions, nil, &argv, &environment) == 0 else {
                return (127, "")
            }
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 {
                guard errno == EINTR else { throw TestFiles.Failure("waitpid") }
            }
            return (status, String(decoding: TestFiles.read(output) ?? [], as: UTF8.self))
        }
    }
}
