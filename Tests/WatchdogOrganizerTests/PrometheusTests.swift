// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogOrganizer

@Suite("Hang rates from Prometheus")
struct PrometheusTests {
    private static let running = "app_version_instance:watchdogd_running_seconds:rate1h"

    /// One sample as the API has it.
    private static func sample(_ value: String, app: String = "editor", version: String = "1.0") -> String {
        #"{"metric":{"app":"\#(app)","version":"\#(version)"},"value":[1793491200.5,"\#(value)"]}"#
    }

    private static func vector(_ samples: String...) -> [UInt8] {
        let list = samples.joined(separator: ",")
        return Array(#"{"status":"success","data":{"resultType":"vector","result":[\#(list)]}}"#.utf8)
    }

    /// The table of three answers: running, hangs, first.
    private func table(
        _ answers: [[UInt8]], app: String? = nil, after organizer: Organizer = Organizer(now: now)
    ) throws -> OrganizerTable {
        var answers = answers[...]
        let rates = PrometheusRates(since: nil, host: nil, now: now)
        try rates.read(into: organizer, app: app) { _ in (200, answers.popFirst() ?? []) }
        return OrganizerTable(organizer)
    }

    private func queries(since: WallTime? = nil, host: String? = nil) throws -> [String] {
        var asked: [String] = []
        try PrometheusRates(since: since, host: host, now: now).read(into: Organizer(now: now), app: nil) { path in
            asked.append(path)
            return (200, Self.vector())
        }
        return asked
    }

    @Test("Seconds of hangs per hour, beside incidents of the same version")
    func rates() throws {
        let organizer = Organizer(now: now)
        organizer.add(incident(hour: 5, version: "1.1", app: "editor"))
        let result = try table(
            [
                Self.vector(Self.sample("7200"), Self.sample("3600", version: "1.1")),
                Self.vector(Self.sample("30"), Self.sample("1800", version: "1.1")),
                Self.vector(Self.sample("\(epoch)"), Self.sample("\(epoch + 90_000)", version: "1.1")),
            ], after: organizer)
        let app = try #require(result.apps.first)
        #expect(app.versions.map(\.name) == ["1.0", "1.1"])
        #expect(app.versions.map(\.hangRate) == [.secondsPerHour(15, hours: 2), .secondsPerHour(1_800, hours: 1)])
        #expect(app.versions.map(\.first) == [epoch, epoch + 5 * 3_600])
        #expect(app.versions.map(\.incidents) == [0, 1] && app.versions.allSatisfy { $0.launches == nil })
    }

    @Test("What contradicts itself or is no number does not count; names are cut")
    func nonsense() throws {
        let long = String(repeating: "é", count: 1_000)
        let result = try table([
            Self.vector(
                Self.sample("NaN", app: "a"), Self.sample("-1", app: "b"), Self.sample("+Inf", app: "c"),
                Self.sample("0", app: "d"), Self.sample("1e300", app: "e"), Self.sample("3600", app: ""),
                Self.sample("3600", app: "f"), Self.sample("3600", app: long, version: "")),
            // More hanging than running.
            Self.vector(Self.sample("7200", app: "f")), Self.vector(Self.sample("1e12", app: "f")),
        ])
        #expect(result.apps.map(\.name).sorted() == ["f", String(repeating: "é", count: 256)])
        let app = try #require(result.apps.first { $0.name == "f" })
        #expect(app.versions.map(\.hangRate) == [.secondsPerHour(3_600, hours: 1)])
        #expect(app.versions.map(\.first) == [now.seconds])
        #expect(result.apps.first { $0.name != "f" }?.versions.map(\.name) == [Organizer.unknown])
    }

    @Test("Only the app that counts")
    func filter() throws {
        let answers = [Self.vector(Self.sample("1", app: "a"), Self.sample("1", app: "Editor"))]
        #expect(try table(answers + [Self.vector(), Self.vector()], app: "eDITOR").apps.map(\.name) == ["Editor"])
    }

    @Test("The questions: thirty days by the hour, less in smaller steps, never below fifteen seconds")
    func questions() throws {
        let month = try queries()
        #expect(month.count == 3 && month.allSatisfy { $0.hasPrefix("/api/v1/query?timeout=20s&query=") })
        #expect(
            month[0].hasSuffix(
                PrometheusRates.encoded(
                    "sum by (app, version) (sum_over_time(\(Self.running)[2592000s:3600s])) * 3600")))
        let hour = WallTime(seconds: now.seconds - 3_600)
        #expect(try queries(since: hour)[0].contains(PrometheusRates.encoded("[3600s:15s])) * 15")))
        #expect(PrometheusRates.encoded("a b&+é\"") == "a%20b%26%2B%C3%A9%22")
    }

    @Test("A host is a text, whatever it contains, with any port")
    func host() throws {
        let asked = try queries(host: "web.1\"\\\u{1}{")
        #expect(asked.allSatisfy { $0.contains("instance") })
        #expect(asked[0].contains(PrometheusRates.encoded(#"(?i)web\\."#)), "\(asked[0])")
        #expect(asked[0].contains(PrometheusRates.encoded(#"\\\""#)), "\(asked[0])")
        #expect(asked[0].contains(PrometheusRates.encoded(#"\\\\"#)), "\(asked[0])")
        #expect(asked[0].contains(PrometheusRates.encoded(#".\\{(:[0-9]+)?"}"#)), "\(asked[0])")
    }

    @Test(
        "Answers that are none",
        arguments: [
            (200, "", "is not Prometheus: its answer is unexpected"),
            (200, #"{"status":"success"}"#, "rejects the query (HTTP status 200): "),
            (
                200, #"{"status":"success","data":{"resultType":"matrix","result":[]}}"#,
                "is not Prometheus: its answer is unexpected"
            ),
            (
                200, #"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,2]}]}}"#,
                "is not Prometheus: its answer is unexpected"
            ),
            (422, #"{"status":"error","errorType":"execution","error":"many\nlines"}"#, "execution: many"),
            (503, "starting", "answers with HTTP status 503"), (302, "", "answers with HTTP status 302"),
            (200, String(repeating: "[", count: 100_000), "is not Prometheus: its answer is unexpected"),
        ])
    func failures(_ status: Int, _ body: String, _ reason: String) {
        let error = #expect(throws: PrometheusAnswer.Failure.self) {
            try PrometheusAnswer.samples(status: status, body: Array(body.utf8))
        }
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
        #expect(error?.reason.contains("\n") == false)
    }
}
