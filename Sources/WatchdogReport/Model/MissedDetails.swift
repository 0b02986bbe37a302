// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// How it was detected that the app did not do what it was watched for.
public struct MissedDetails: Codable, Hashable, Sendable {
    /// What was missed.
    public enum Kind: String, Codable, Sendable, CaseIterable {
        /// Answers to liveness probes.
        case probe
        /// The end of the launch.
        case readiness
    }

    /// What was missed.
    public var kind: Kind
    /// What was probed or waited for, as users write it: `tcp:localhost:6379`, `listen:8080`, `READY=1`.
    public var target: String
    /// Why the last probe failed; nil when no answer came, and for readiness.
    public var failure: String?
    /// How many probes in a row failed; nil for readiness.
    public var count: Int?

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
