// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The evidence that the app missed its obligation.
public struct MissedDetails: Codable, Hashable, Sendable {
    /// The kind of the obligation.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// Answers to liveness probes.
        case probe
        /// The end of the launch.
        case readiness
    }

    /// The kind of the obligation.
    public var kind: Kind
    /// The target of the probe or the readiness, in the syntax of app files: `tcp:localhost:6379`, `listen:8080`,
    /// `READY=1`.
    public var target: String
    /// The reason why the last probe failed; nil without an answer, and for readiness.
    public var failure: String?
    /// The number of consecutive failed probes; nil for readiness.
    public var count: Int?

    /// The failed probes, oldest first; nil if their times are unknown, and for readiness.
    public private(set) var failures: [Failure]?

    /// A probe that failed.
    public struct Failure: Codable, Hashable, Sendable {
        /// The time from its start to the report, in nanoseconds.
        public let sinceNanoseconds: Int64
        /// The duration, in nanoseconds.
        public let durationNanoseconds: Int64
        /// The reason of the failure; nil without an answer.
        public let reason: String?

        /// Creates a failure; secrets in the reason are redacted.
        public init(sinceNanoseconds: Int64, durationNanoseconds: Int64, reason: String? = nil) {
            self.sinceNanoseconds = sinceNanoseconds
            self.durationNanoseconds = durationNanoseconds
            self.reason = reason.map { Redaction.value($0).singleLine(limit: 255) }
        }
    }

    /// The maximum number of failures in a report.
    package static let mostFailures = 32

    /// Adds the times of the failures; beyond the limit, keeps the newest.
    package mutating func add(_ failures: [Failure]) {
        self.failures = failures.isEmpty ? nil : Array(failures.suffix(Self.mostFailures))
    }

    /// `failed 7.00 s, 4.00 s and 1.00 s before the stacks were captured`; nil without times.
    package var times: String? {
        guard let failures, let last = failures.last else { return nil }
        let shown = failures.suffix(5)
        let spans = shown.map { Duration.nanoseconds(max(0, $0.sinceNanoseconds)).seconds(fractionDigits: 2) + " s" }
        let list =
            spans.count > 1 ? "\(spans.dropLast().joined(separator: ", ")) and \(spans[spans.count - 1])" : spans[0]
        let took = Duration.nanoseconds(max(0, last.durationNanoseconds)).seconds(fractionDigits: 2)
        let which = shown.count < failures.count ? "the last five " : ""
        return "\(which)failed \(list) before the stacks were captured; the last one took \(took) s"
    }

    /// Creates details; secrets in the target are redacted.
    public init(_ kind: Kind, of target: String, failure: String? = nil, count: Int? = nil) {
        self.kind = kind
        self.target = Redaction.value(target).singleLine(limit: 255)
        self.failure = failure.map { Redaction.value($0).singleLine(limit: 255) }
        self.count = count
    }

    /// The label in front of ``words``.
    package var label: String {
        switch kind {
        case .probe: "Failed"
        case .readiness: "Waited for"
        }
    }

    /// `probe tcp:localhost:6379: connection refused (3 in a row)`, `listen:8080`.
    package var words: String {
        guard kind == .probe else { return target }
        let times = count.map { $0 > 1 ? " (\($0) in a row)" : "" } ?? ""
        return "probe \(target): \(failure ?? "no answer")\(times)"
    }
}
