// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
import WatchdogReport

/// Reads the running, hang and launch times of each app's versions on all hosts from the recording rules in Prometheus.
///
/// Pure: the caller sends the requests to the server.
public struct PrometheusRates {
    /// The data of one version of an app on all hosts.
    struct Rate: Equatable {
        let app: String
        let version: String
        /// The hang time in seconds.
        let hanging: Double
        let running: Double
        let launches: LaunchBuckets
        /// The time of its first run, in seconds since 1970.
        let first: Int64
    }

    /// Rules of packaging/prometheus/rules.yml.
    private static let hangs = "app_version_instance:watchdogd_hang_seconds:rate1h"
    private static let running = "app_version_instance:watchdogd_running_seconds:rate1h"
    private static let launches = "app_version_instance:watchdogd_launch_duration_seconds_bucket:rate1h"
    static let rules = [hangs, running, launches]
    /// The maximum number of points: more would load the server without a benefit, because the rules use windows of an
    /// hour.
    private static let points: Int64 = 720
    /// The usual evaluation interval of Prometheus, in seconds.
    private static let shortestStep: Int64 = 15
    /// The default range without `--since`.
    public static let window = Duration.seconds(30 * 86_400)

    private let seconds: Int64
    private let host: String?
    private let now: Int64

    /// Prepares the queries.
    ///
    /// - Parameters:
    ///   - since: the start of the range; nil for ``window``.
    ///   - host: the only host to include, by the label `instance`, with or without its port; nil for all.
    public init(since: WallTime?, host: String?, now: WallTime) {
        let window = since.map { now.seconds - $0.seconds } ?? Self.window.components.seconds
        seconds = min(max(window, 60), 10 * 366 * 86_400)
        self.host = host
        self.now = now.seconds
    }

    /// Executes the queries, and adds the results to an organizer.
    ///
    /// - Parameters:
    ///   - app: the only app to include, or a pattern, in any case; nil for all.
    ///   - ask: sends one request for a path; returns the HTTP status and the body.
    public func read<Problem: Error>(
        into organizer: Organizer, app: String?, _ ask: (String) throws(Problem) -> (status: Int, body: [UInt8])
    ) throws {
        func samples(_ query: String) throws -> [PrometheusAnswer.Sample] {
            let answer = try ask("/api/v1/query?timeout=20s&query=\(Self.encoded(query))")
            return try PrometheusAnswer.samples(status: answer.status, body: answer.body)
        }
        let answers = try Answers(
            running: samples(sum(of: Self.running)), hangs: samples(sum(of: Self.hangs)), first: samples(firstTimes),
            launches: samples(sum(of: Self.launches, by: "app, version, le")))
        for rate in rates(answers)
        where app.map({ Wildcard.selects(rate.app, by: $0) }) ?? true {
            organizer.add(rate)
        }
    }

    // MARK: - Questions

    private var step: Int64 { max(Self.shortestStep, seconds / Self.points) }

    private var selector: String {
        guard let host else { return "" }
        // A regular expression in a string: all characters except letters and digits are escaped for both.
        let name = host.unicodeScalars.map { scalar in
            scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_"
                ? String(scalar) : scalar.value < 0x20 || scalar.value == 0x7f ? "." : #"\\"# + Self.quoted(scalar)
        }
        return #"{instance=~"(?i)\#(name.joined())(:[0-9]+)?"}"#
    }

    private static func quoted(_ scalar: Unicode.Scalar) -> String {
        scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : String(scalar)
    }

    /// Seconds or launches: the sum of rates, each of which stands for one step.
    private func sum(of rule: String, by labels: String = "app, version") -> String {
        "sum by (\(labels)) (sum_over_time(\(rule)\(selector)[\(seconds)s:\(step)s])) * \(step)"
    }

    private var firstTimes: String {
        "min by (app, version) (min_over_time(timestamp(\(Self.running)\(selector) > 0)[\(seconds)s:\(step)s]))"
    }

    /// Percent-encodes a text: RFC 3986.
    static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return text.utf8.reduce(into: "") { encoded, byte in
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII,
                scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-._~".contains(Character(scalar))
            {
                encoded.unicodeScalars.append(scalar)
            } else {
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }

    // MARK: - Answers

    private struct Answers {
        let running: [PrometheusAnswer.Sample]
        let hangs: [PrometheusAnswer.Sample]
        let first: [PrometheusAnswer.Sample]
        let launches: [PrometheusAnswer.Sample]
    }

    private struct Key: Hashable {
        let app: String
        let version: String

        /// Names have the same limits as in crash logs.
        init?(_ labels: [String: String]) {
            guard let app = labels["app"], !app.isEmpty else { return nil }
            self.app = Self.cut(app)
            version = Self.cut(labels["version"] ?? "")
        }

        private static func cut(_ name: String) -> String {
            String(decoding: name.utf8.prefix(LineScanner.textBytes), as: UTF8.self)
        }
    }

    /// Combines the results; inconsistent ones are dropped.
    private func rates(_ answers: Answers) -> [Rate] {
        func sums<Sum>(
            _ samples: [PrometheusAnswer.Sample], _ none: Sum, _ add: (PrometheusAnswer.Sample, inout Sum) -> Void
        ) -> [Key: Sum] {
            samples.reduce(into: [:]) { sums, sample in
                guard let key = Key(sample.labels), (0...1e15).contains(sample.value) else { return }
                add(sample, &sums[key, default: none])
            }
        }
        let add = { (sample: PrometheusAnswer.Sample, sum: inout Double) in sum += sample.value }
        let (hangs, first) = (sums(answers.hangs, 0, add), sums(answers.first, 0, add))
        let launches = sums(answers.launches, LaunchBuckets()) { sample, buckets in
            guard let bound = sample.labels["le"].flatMap({ Double($0) }) else { return }
            buckets.add(sample.value, within: bound)
        }
        return sums(answers.running, 0, add).compactMap { key, running in
            guard running > 0 else { return nil }
            // A server may repeat a series any number of times, so the sum may exceed the integer range.
            let since = first[key].map { Int64(min($0, 1e15)) } ?? now
            return Rate(
                app: key.app, version: key.version, hanging: min(hangs[key] ?? 0, running), running: running,
                launches: launches[key] ?? LaunchBuckets(), first: min(max(since, 0), now))
        }
        .sorted { ($0.app, $0.version) < ($1.app, $1.version) }
    }
}
