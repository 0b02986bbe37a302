// SPDX-License-Identifier: Apache-2.0

import ReportFixtures
import Testing
import WatchdogBase

@testable import WatchdogFleet

@Suite("Hang rates and launch times from Prometheus")
struct PrometheusTests {
    private static let running = "app_version_instance:watchdogd_running_seconds:rate1h"

    /// One sample in the API's format.
    private static func sample(_ value: String, app: String = "editor", version: String = "1.0") -> String {
        #"{"metric":{"app":"\#(app)","version":"\#(version)"},"value":[1793491200.5,"\#(value)"]}"#
    }

    /// Buckets of launches in the API's format.
    private static func buckets(
        _ counts: KeyValuePairs<String, String>, app: String = "editor", version: String = "1.0"
    ) -> String {
        counts.map { bound, count in
            #"{"metric":{"app":"\#(app)","le":"\#(bound)","version":"\#(version)"},"value":[1793491200.5,"\#(count)"]}"#
        }.joined(separator: ",")
    }

    private static func vector(_ samples: String...) -> [UInt8] {
        let list = samples.joined(separator: ",")
        return Array(#"{"status":"success","data":{"resultType":"vector","result":[\#(list)]}}"#.utf8)
    }

    /// The table of the responses: running, hangs, first, launches; missing ones are empty.
    private func table(
        _ answers: [[UInt8]], app: String? = nil, after organizer: Organizer = Organizer(now: now)
    ) throws -> OrganizerTable {
        var answers = answers[...]
        let rates = PrometheusRates(since: nil, host: nil, now: now)
        try rates.read(into: organizer, app: app) { _ in (200, answers.popFirst() ?? Self.vector()) }
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

    @Test("Seconds of hangs per hour appear beside incidents of the same version")
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

    @Test("Contradictions and values that are not numbers do not count; names are cut")
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

    @Test("A series that a response repeats endlessly does not overflow")
    func repetitions() throws {
        let times = (0..<10_000).map { _ in Self.sample("1e15") }.joined(separator: ",")
        let result = try table([Self.vector(Self.sample("3600")), Self.vector(), Self.vector(times)])
        #expect(result.apps.first?.versions.map(\.first) == [now.seconds])
    }

    @Test("Only the selected app counts")
    func filter() throws {
        let answers = [Self.vector(Self.sample("1", app: "a"), Self.sample("1", app: "Editor"))]
        #expect(try table(answers, app: "eDITOR").apps.map(\.name) == ["Editor"])
    }

    @Test("Launch times by version cover all hosts, even if a history has some; in the text, the JSON and the page")
    func launches() throws {
        let organizer = Organizer(now: now)
        organizer.add(
            ["1.0", "1.2"].map {
                .launch(time: epoch, version: $0, host: "web-1", duration: .seconds(7))
            }, of: "editor")
        let running = Self.vector(
            Self.sample("7200"), Self.sample("3600", version: "1.1"), Self.sample("60", version: "1.2"))
        let launches = Self.vector(
            Self.buckets(["0.1": "0", "0.4": "10", "1": "20", "+Inf": "20"]),
            Self.buckets(["0.4": "0", "1": "2", "2.5": "3", "+Inf": "3.9"], version: "1.1"))
        let result = try table([running, Self.vector(), Self.vector(), launches], after: organizer)
        let versions = try #require(result.apps.first).versions
        #expect(versions.map(\.name) == ["1.0", "1.1", "1.2"])
        let former = try #require(versions[0].launches)
        #expect(former.count == 20 && former.failures == nil)
        #expect(former.p25 == .milliseconds(250) && former.p50 == .milliseconds(400))
        #expect(former.p75 == .milliseconds(700) && former.p90?.brief == "880 ms")
        // The last of four took at least as long as the greatest bound.
        let later = try #require(versions[1].launches)
        #expect(later.count == 4 && later.p50?.brief == "985 ms" && later.p90 == .milliseconds(2_500))
        #expect(versions[2].launches?.count == 1 && versions[2].launches?.failures == 0)
        let text = OrganizerText(columns: 120).text(result)
        #expect(text.contains("LAUNCH P50") && text.contains("400 ms") && text.contains("250 ms to 700 ms"), "\(text)")
        let json = OrganizerReply(result).json
        #expect(json.contains("\"p50USec\" : 400000") && json.contains("\"count\" : 20"), "\(json)")
        #expect(OrganizerPage.render(result).contains("400 ms, 90 % within 880 ms"))
    }

    @Test(
        "Contradictory buckets are no launches, or as many as the greatest smaller bound has",
        arguments: [
            (["1": "5"], nil), (["1": "0", "+Inf": "0"], nil), (["+Inf": "5"], nil), (["1": "NaN", "+Inf": "-1"], nil),
            (["x": "5", "-1": "5", "0": "5", "nan": "5", "1e300": "5", "+Inf": "4"], nil),
            (["1": "3", "2": "1", "4": "8", "+Inf": "8"], "2.40 s"), (["2": "8", "+Inf": "4"], "500 ms"),
        ] as [(KeyValuePairs<String, String>, String?)])
    func contradictions(_ counts: KeyValuePairs<String, String>, _ median: String?) throws {
        let launches = Self.vector(Self.buckets(counts))
        let result = try table([Self.vector(Self.sample("60")), Self.vector(), Self.vector(), launches])
        #expect(result.apps.first?.versions.first?.launches?.p50?.brief == median)
        #expect(OrganizerReply(result).json.contains("hangRate"))
    }

    @Test("Launches of merged versions are added")
    func others() throws {
        var limits = Organizer.Limits()
        limits.versions = 1
        let names = ["1.0", "1.1", "1.2"]
        let result = try table(
            [
                Self.vector(names.map { Self.sample("60", version: $0) }.joined(separator: ",")), Self.vector(),
                Self.vector(),
                Self.vector(names.map { Self.buckets(["1": "2", "+Inf": "4"], version: $0) }.joined(separator: ",")),
            ], after: Organizer(now: now, limits: limits))
        let versions = try #require(result.apps.first).versions
        #expect(versions.map(\.name) == ["1.0", Organizer.others] && result.isLimited)
        #expect(versions.map { $0.launches?.count } == [4, 8])
    }

    @Test("The queried rules are the recorded ones")
    func rules() throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
        let bytes = try #require(TestFiles.read("\(root)/packaging/prometheus/rules.yml"))
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        for rule in PrometheusRates.rules { #expect(lines.contains("      - record: \(rule)"), "\(rule)") }
    }

    @Test("Queries cover thirty days by the hour, and less in smaller steps, never below fifteen seconds")
    func questions() throws {
        let month = try queries()
        #expect(month.count == 4 && month.allSatisfy { $0.hasPrefix("/api/v1/query?timeout=20s&query=") })
        #expect(
            month[0].hasSuffix(
                PrometheusRates.encoded(
                    "sum by (app, version) (sum_over_time(\(Self.running)[2592000s:3600s])) * 3600")))
        #expect(
            month[3].hasSuffix(
                PrometheusRates.encoded(
                    "sum by (app, version, le) (sum_over_time(\(PrometheusRates.rules[2])[2592000s:3600s])) * 3600")))
        let hour = WallTime(seconds: now.seconds - 3_600)
        #expect(try queries(since: hour)[0].contains(PrometheusRates.encoded("[3600s:15s])) * 15")))
        #expect(PrometheusRates.encoded("a b&+é\"") == "a%20b%26%2B%C3%A9%22")
    }

    @Test("A host is any text, with any port")
    func host() throws {
        let asked = try queries(host: "web.1\"\\\u{1}{")
        #expect(asked.allSatisfy { $0.contains("instance") })
        #expect(asked[0].contains(PrometheusRates.encoded(#"(?i)web\\."#)), "\(asked[0])")
        #expect(asked[0].contains(PrometheusRates.encoded(#"\\\""#)), "\(asked[0])")
        #expect(asked[0].contains(PrometheusRates.encoded(#"\\\\"#)), "\(asked[0])")
        #expect(asked[0].contains(PrometheusRates.encoded(#".\\{(:[0-9]+)?"}"#)), "\(asked[0])")
    }

    @Test(
        "Invalid responses are rejected",
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
