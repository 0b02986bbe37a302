// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport

/// `watchdogd run` with its own directory for reports, summary and sockets.
final class Supervision {
    let scratch: Scratch
    let program: Program
    private let marker: String
    private let reads: Bool

    /// Starts it.
    ///
    /// - Parameters:
    ///   - options: of `watchdogd run`, besides those for the places of its files.
    ///   - command: the supervised command.
    ///   - environment: variables in addition to those of all tests.
    ///   - wrapper: a command that finally executes watchdogd, such as `unshare`.
    ///   - binary: the watchdogd to run; by default the one that was built.
    ///   - reports: the folder for reports, below the scratch directory unless it is a path.
    init(
        _ options: [String],
        _ command: [String],
        environment: [String: String] = [:],
        wrapper: [String] = [],
        binary: String = product("watchdogd"),
        scratch: Scratch? = nil,
        reports: String? = nil,
        streams: Program.Streams = .pipes
    ) throws {
        let scratch = try scratch ?? Scratch()
        self.scratch = scratch
        marker = "WATCHDOGD_TEST=\(UInt64.random(in: 0 ... .max))"
        var variables = testEnvironment()
        variables["HOME"] = scratch.path
        variables["TMPDIR"] = scratch.path
        variables["XDG_RUNTIME_DIR"] = try scratch.makeDirectory("runtime", mode: 0o700)
        variables["WATCHDOGD_TEST"] = String(marker.dropFirst("WATCHDOGD_TEST=".count))
        for (name, value) in environment { variables[name] = value }
        reads = !options.contains("--json")
        let own = ["--reports", reports ?? scratch["reports"]] + (reads ? ["--json", scratch["summary.json"]] : [])
        program = try Program(
            wrapper + [binary, "run"] + own + options + ["--"] + command,
            environment: variables, directory: scratch.path, streams: streams)
    }

    /// A failed test leaves processes: this kills those of this supervision, and no others.
    deinit {
        if program.status == nil { try? program.send(SIGKILL) }
        Leftovers.end(marked: marker, cgroup: Leftovers.cgroup(ofSupervisor: program.pid))
    }

    var reports: String { scratch["reports"] }

    /// The supervision's living processes without watchdogd itself.
    var processes: [Int32] { Leftovers.programs(marked: marker) }

    @discardableResult
    func line(_ text: String = "", on stream: Program.Stream = .output) throws -> String {
        try program.line(text, on: stream)
    }

    func send(_ signal: Int32) throws { try program.send(signal) }

    /// Waits for watchdogd's exit, and checks that nothing of the supervision is left.
    func end(within limit: Duration = patience, sourceLocation: SourceLocation = #_sourceLocation) throws -> Ending {
        let status = try program.end(within: limit)
        // A process that was just sent SIGKILL needs a moment.
        let isAlone = eventually { processes.isEmpty }
        #expect(isAlone, "processes survive: \(Leftovers.describe(processes))", sourceLocation: sourceLocation)
        #expect(Leftovers.cgroup(ofSupervisor: program.pid) == nil, sourceLocation: sourceLocation)
        #expect(
            Leftovers.sockets(in: scratch["runtime"], ofSupervisor: program.pid) == [], sourceLocation: sourceLocation)
        #expect(
            names(in: scratch.path).filter { $0.hasSuffix(".tmp") } == [], "no half-written summary",
            sourceLocation: sourceLocation)
        var files = names(in: reports)
        let cores = files.filter { $0.hasSuffix(".core") }
        files.removeAll { cores.contains($0) }
        #expect(files.allSatisfy { $0.hasSuffix(".ips") }, "\(files)", sourceLocation: sourceLocation)
        return Ending(
            exitCode: status.code ?? -1,
            output: program.text(.output),
            errors: program.text(.errors).split(separator: "\n").map(String.init).filter {
                !Leftovers.isAboutCgroups($0)
            },
            summary: reads ? try contents(of: scratch["summary.json"]).map { try Summary($0) } : nil,
            reports: try files.map { try ReportCoding.decode(contents(of: "\(reports)/\($0)") ?? []) },
            reportPaths: files.map { "\(reports)/\($0)" },
            corePaths: cores.map { "\(reports)/\($0)" },
            scratch: scratch
        )
    }
}

/// How a supervision ended, and what it left on purpose.
struct Ending {
    /// watchdogd's exit code; -1 if a signal killed it.
    let exitCode: Int32
    let output: String
    /// The lines on standard error, from watchdogd and the program.
    let errors: [String]
    /// Nil if nothing was launched.
    let summary: Summary?
    let reports: [Report]
    let reportPaths: [String]
    /// The paths of the kept stacks.
    let corePaths: [String]
    /// Keeps the files alive.
    let scratch: Scratch

    /// The lines that watchdogd itself wrote to standard error.
    var messages: [String] { errors.filter { $0.hasPrefix("watchdogd: ") } }
}

/// Supervises a program until it exits.
func supervise(
    _ options: [String], _ command: [String], environment: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> Ending {
    try Supervision(options, command, environment: environment).end(sourceLocation: sourceLocation)
}
