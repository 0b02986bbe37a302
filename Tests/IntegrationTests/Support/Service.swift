// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogControl
import WatchdogLinux

/// A daemon whose control socket is in a test's own directory.
protocol ServedDaemon {
    var scratch: Scratch { get }
}

extension ServedDaemon {
    var client: ControlClient { get throws { try ControlClient(ControlPath(scratch["control"]), patience: patience) } }

    /// An app's entry in the reply to `List`.
    func app(_ name: String) throws -> AppSummary {
        guard let app = try client.list().apps.first(where: { $0.name == name }) else {
            throw Failure("there is no app \(name)")
        }
        return app
    }
}

/// `watchdogd serve` with its own directory for configuration, control socket, reports and runtime.
final class Service: ServedDaemon {
    let scratch: Scratch
    let program: Program
    private let marker: String

    /// Starts it.
    ///
    /// - Parameters:
    ///   - apps: the contents of files, by the names of the apps.
    ///   - options: of `watchdogd serve`, besides those for the places of its files.
    ///   - wrapper: a command that finally executes watchdogd.
    ///   - isSystem: whether it serves the machine, which needs root.
    init(
        _ apps: [String: String] = [:], options: [String] = ["--verbose"], environment: [String: String] = [:],
        wrapper: [String] = [], scratch: Scratch? = nil, isSystem: Bool = false
    ) throws {
        let scratch = try scratch ?? Scratch()
        self.scratch = scratch
        marker = "WATCHDOGD_TEST=\(UInt64.random(in: 0 ... .max))"
        var variables = testEnvironment()
        variables["HOME"] = scratch.path
        variables["TMPDIR"] = scratch.path
        if !scratch.exists("runtime") {
            _ = try scratch.makeDirectory("runtime", mode: 0o700)
            _ = try scratch.makeDirectory("apps")
        }
        variables["XDG_RUNTIME_DIR"] = scratch["runtime"]
        variables["WATCHDOGD_TEST"] = String(marker.dropFirst("WATCHDOGD_TEST=".count))
        for (name, value) in environment { variables[name] = value }
        for (name, text) in apps { try scratch.write(text, to: "apps/\(name).app") }
        let places =
            (isSystem ? [] : ["--user"]) + [
                "--config", scratch["apps"], "--control", scratch["control"], "--reports", scratch["reports"],
            ]
            + (options.contains { $0.hasSuffix("-history") || $0 == "--history" }
                ? [] : ["--history", scratch["history.db"]])
        program = try Program(
            wrapper + [product("watchdogd"), "serve"] + places + options, environment: variables,
            directory: scratch.path)
        guard eventually({ (try? ControlClient(ControlPath(scratch["control"]))) != nil || program.hasEnded }) else {
            throw Failure("no control socket at \(scratch["control"])")
        }
    }

    deinit {
        if program.status == nil { try? program.send(SIGKILL) }
        Leftovers.end(marked: marker, cgroup: Leftovers.cgroup(ofSupervisor: program.pid))
    }

    /// The processes of its apps.
    var processes: [Int32] { Leftovers.programs(marked: marker) }

    func write(_ text: String, to app: String) throws { try scratch.write(text, to: "apps/\(app).app") }

    func remove(_ app: String) { unlink(scratch["apps/\(app).app"]) }

    /// Waits until an app meets a condition.
    @discardableResult
    func wait(
        for name: String, within limit: Duration = patience, _ condition: (AppSummary) -> Bool
    ) throws -> AppSummary {
        var latest: AppSummary?
        guard
            try eventually(
                within: limit,
                {
                    latest = try client.list().apps.first { $0.name == name }
                    return latest.map(condition) ?? false
                })
        else {
            throw Failure("\(name) did not come there: \(String(describing: latest))\n\(program.text(.errors))")
        }
        return try #require(latest)
    }

    /// Runs a client command against it.
    func command(_ arguments: String...) throws -> (code: Int32?, output: String, errors: String) {
        try command(arguments)
    }

    /// Launches an app that hangs from its start and is not restarted, and waits until it was killed.
    func incident(of name: String) throws -> IncidentSummary {
        let before = try app(name).lastIncident?.time
        let launch = try command("launch", "--no-wait", name)
        try #require(launch.code == 0, "\(launch.errors)")
        let app = try wait(for: name) { app in
            app.state == .stopped && app.lastIncident != nil && app.lastIncident?.time != before
        }
        return try #require(app.lastIncident)
    }

    func command(_ arguments: [String]) throws -> (code: Int32?, output: String, errors: String) {
        let program = try Program([product("watchdogd")] + arguments + ["--control", scratch["control"]])
        let code = try program.end().code
        return (code, program.text(.output), program.text(.errors))
    }

    /// Asks it to exit, and checks that nothing is left.
    @discardableResult
    func end(within limit: Duration = patience, sourceLocation: SourceLocation = #_sourceLocation) throws -> Int32? {
        if program.status == nil { try program.send(SIGTERM) }
        let status = try program.end(within: limit)
        let isAlone = eventually { processes.isEmpty }
        #expect(isAlone, "processes survive: \(Leftovers.describe(processes))", sourceLocation: sourceLocation)
        #expect(Leftovers.cgroup(ofSupervisor: program.pid) == nil, sourceLocation: sourceLocation)
        #expect(!scratch.exists("control"), "the socket is gone", sourceLocation: sourceLocation)
        return status.code
    }
}

extension Program {
    /// Whether it is known to have exited, without waiting.
    var hasEnded: Bool { status != nil || process.hasExited }
}
