// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogPolicy

@testable import WatchdogControl

@Suite("Interface")
struct InterfaceTests {
    private static let samples: [(method: String, requests: [any ControlRequest], replies: [any ControlReply])] = [
        (
            "List", [EmptyRequest()],
            [
                ListReply(apps: [Samples.web, Samples.bare], invalidFiles: Samples.list.invalidFiles),
                ListReply(apps: []), ListReply(apps: [], isWithheld: true),
            ]
        ),
        (
            "Describe", [DescribeRequest("a", logLines: 1), DescribeRequest("a")],
            [Samples.description, Samples.bareDescription, Samples.outlineDescription, Samples.silentDescription]
        ),
        (
            "DescribeDaemon", [EmptyRequest()],
            [
                DaemonReply(
                    version: "1", pid: 1, apps: 2, reports: "/r", longestTurn: Microseconds(count: 3),
                    recentTurn: Microseconds(count: 2))
            ]
        ),
        ("Launch", [AppRequest("a", waits: true)], [LaunchReply(pid: 1), LaunchReply(ended: "exited with code 0")]),
        ("Terminate", [AppRequest("a")], [TerminateReply(isGone: true)]),
        ("Restart", [AppRequest("a")], [LaunchReply(pid: 1), LaunchReply(ended: "exited with code 0")]),
        ("Foreground", [AppRequest("a")], [LifecycleReply(state: .foreground)]),
        ("Background", [AppRequest("a")], [LifecycleReply(state: .background)]),
        ("Suspend", [AppRequest("a")], [LifecycleReply(state: .suspended)]),
        ("Resume", [AppRequest("a")], [LifecycleReply(state: .background)]),
        (
            "SendEvent", [EventRequest("a", kind: "url", payload: "x", waits: true), EventRequest("a", kind: "url")],
            [LifecycleReply(state: .foreground)]
        ),
        ("Capture", [CaptureRequest("a")], [CaptureReply(report: "/r", verdict: "v"), CaptureReply(report: "/r")]),
        (
            "Monitor", [MonitorRequest(apps: ["a"], history: 3, follows: false), MonitorRequest()],
            [
                MonitorReply(event: Samples.event), MonitorReply(missed: 3), MonitorReply(),
                MonitorReply(isWithheld: true),
                MonitorReply(event: ControlEvent(.reloaded, message: "m", time: Samples.now)),
            ]
        ),
        (
            "Reload", [ReloadRequest(), ReloadRequest(isDryRun: true)],
            [
                ReloadReply(added: ["a"], changed: ["b"], removed: ["c"], unchanged: 4, warnings: Samples.diagnostics),
                Samples.dryRun, ReloadReply(),
            ]
        ),
        ("ReloadApp", [AppRequest("a")], [ReloadAppReply(duration: .seconds(1), isConfirmed: true), ReloadAppReply()]),
        ("Metrics", [EmptyRequest()], [MetricsReply(parts: ["a 1\n"]), MetricsReply(parts: [])]),
        (
            "Reports", [ReportsRequest(app: "a", limit: 3), ReportsRequest()],
            [
                ReportsReply(reports: [
                    Samples.report, ReportSummary(app: "a", time: Samples.now, path: "/r", size: 1),
                ])
            ]
        ),
    ]

    private static let errors: [ControlError] = [
        .noSuchApp("a", suggestion: "b"), .notPermitted(.act, user: 1, owner: 2),
        .invalidConfiguration(Samples.diagnostics, app: "a"), .invalidConfiguration([]), .alreadyRunning("a", pid: 3),
        .alreadyRunning("a", pid: nil),
        .notRunning("a"), .unkillable("a", pid: 3), .launchFailed("a", reason: "r"), .captureFailed("a", reason: "r"),
        .refused("a", reason: "r"), .eventLost("a", kind: "url"), .reloadFailed("a", reason: "r"),
        .shuttingDown, .tooManyConnections(limit: 64), .malformedMessage(reason: "r"), .failed(reason: "r"),
        .methodNotFound("m"), .interfaceNotFound("i"), .invalidParameter("p"), .expectedMore,
    ]

    @Test("the definition has exactly the methods, fields and errors that are sent and received")
    func definitionIsTrue() throws {
        let definition = try InterfaceDefinition(ControlInterface.definition)
        #expect(definition.name == ControlInterface.name)
        #expect(Set(definition.methods.keys) == Set(Self.samples.map(\.method)))
        let own = ControlMethod.allCases.map(\.rawValue).filter { $0.hasPrefix(ControlInterface.name + ".") }
        #expect(Set(own) == Set(definition.methods.keys.map { "\(ControlInterface.name).\($0)" }))
        var seen: Set<String> = []
        var all: Set<String> = []
        for (name, requests, replies) in Self.samples {
            let method = try #require(definition.methods[name])
            for request in requests {
                let json = try JSON(encoding: request)
                #expect(definition.problems(json, method.input, at: "\(name) in", seen: &seen) == [])
                let names = Set(definition.fields(method.input, at: "").map { String($0.dropFirst()) })
                #expect(type(of: request).parameterNames == names)
            }
            for reply in replies {
                let json = try JSON(encoding: reply)
                #expect(definition.problems(json, method.output, at: "\(name) out", seen: &seen) == [])
            }
            all.formUnion(definition.fields(method.input, at: "\(name) in"))
            all.formUnion(definition.fields(method.output, at: "\(name) out"))
        }
        #expect(all.subtracting(seen) == [], "fields that no sample has")
        let used = Set(all.map { String($0.prefix { $0 != "." }) })
        #expect(Set(definition.types.keys).subtracting(used) == ["AppState", "Severity"])
    }

    @Test("the definition has the errors")
    func errorsAreTrue() throws {
        let definitions = try [ControlInterface.definition, ControlInterface.serviceDefinition].map {
            try InterfaceDefinition($0)
        }
        var seen: Set<String> = []
        for error in Self.errors {
            let parts = error.wireName.split(separator: ".")
            let definition = try #require(
                definitions.first { $0.name == parts.dropLast().joined(separator: ".") })
            let name = String(try #require(parts.last))
            let kind = try #require(definition.errors[name], "\(name)")
            var writer = ReplyWriter(error.body, error: error.wireName, encoder: JSONEncoder())
            var output = OutputBuffer()
            _ = writer.write(to: &output, atMost: .max)
            let message = try JSONDecoder().decode(JSON.self, from: Data(output.takeAll().dropLast()))
            guard case .object(let members) = message, let parameters = members["parameters"] else {
                Issue.record("\(message)")
                continue
            }
            #expect(definition.problems(parameters, kind, at: name, seen: &seen) == [])
            #expect(definition.fields(kind, at: name).filter { $0.hasPrefix("\(name).") }.subtracting(seen) == [])
        }
        let told = Set(Self.errors.map { $0.wireName.split(separator: ".").last.map(String.init) })
        #expect(Set(definitions[0].errors.keys).subtracting(told.compactMap(\.self)) == [])
    }

    @Test("the definition has the states, kinds and causes in the code")
    func namesAreDefined() throws {
        let definition = try InterfaceDefinition(ControlInterface.definition)
        #expect(definition.types["AppState"] == .enumeration(AppState.allCases.map(\.rawValue)))
        let kinds: [ControlEvent.Kind] = [
            .launched, .ready, .adopted, .hung, .credited, .rebased, .paused, .resumed, .extended, .extensionRefused,
            .terminating, .exhausted, .captureFailed, .reported, .channelLost, .exited, .unkillable, .restarting,
            .limitReached, .launchFailed, .reloaded, .lifecycle, .probeFailed, .probeRecovered, .probeImpossible,
            .appReloaded, .reloadFailed, .leftBehind, .marked, .launchRegressed, .slow, .messageRefused,
        ]
        let text = ControlInterface.definition.replacing(#/\n#? */#, with: " ")
        #expect(text.contains("Kinds: \(kinds.map(\.rawValue).joined(separator: ", "))."))
        let causes = RestartSettings.Cause.allCases.map(\.rawValue) + ["request"]
        #expect(text.contains("by cause: \(causes.joined(separator: ", "))."))
        let incidents: [IncidentSummary.Kind] = [.watchdog, .hang, .crash, .exit, .spawn]
        #expect(text.contains("Kinds: \(incidents.map(\.rawValue).joined(separator: ", "))."))
    }

    @Test("docs/org.watchdogd.Supervisor.varlink matches the reply to GetInterfaceDescription")
    func documentedDefinition() throws {
        try Golden.compare(ControlInterface.definition, with: "docs/org.watchdogd.Supervisor.varlink")
    }

    @Test("these tests' parser rejects a definition that breaks the grammar")
    func reader() throws {
        for text in [
            "interface x", "interface a.b type X (a b)", "interface a.b type X (a: int, b)",
            "interface a.b method x() -> ()",
        ] {
            #expect(throws: InterfaceDefinition.SyntaxError.self) { try InterfaceDefinition(text) }
        }
    }
}

/// Files in the package that tests compare with.
enum Golden {
    static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    /// Compares; `WATCHDOGD_UPDATE_GOLDENS=1` rewrites the file.
    static func compare(_ text: String, with path: String) throws {
        let full = "\(root)/\(path)"
        if getenv("WATCHDOGD_UPDATE_GOLDENS").map({ String(cString: $0) }) == "1" {
            try Data(text.utf8).write(to: URL(filePath: full))
        }
        let golden = try #require(
            try? String(contentsOfFile: full, encoding: .utf8), "\(path) is missing; set WATCHDOGD_UPDATE_GOLDENS=1")
        #expect(text == golden, "\(path) differs; set WATCHDOGD_UPDATE_GOLDENS=1 to write it anew")
    }
}
