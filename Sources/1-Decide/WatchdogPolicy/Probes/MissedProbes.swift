// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Consecutive liveness probes that failed.
public struct MissedProbes: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Why a probe failed.
    public enum Failure: Hashable, Sendable, Codable, CustomStringConvertible {
        /// There was no answer in time.
        case noAnswer
        /// The app refused or answered incorrectly; the reason is part of a sentence.
        case failed(String)

        private enum CodingKeys: String, CodingKey { case noAnswer, failed }

        /// The reason in words.
        public var description: String {
            switch self {
            case .noAnswer: "no answer"
            case .failed(let reason): reason
            }
        }
    }

    /// The target as written in settings.
    public let target: String
    /// How many failed since the last success.
    public let count: Int
    /// Why the last one failed.
    public let last: Failure
    /// How long the last one took.
    public let lastDuration: Duration

    private enum CodingKeys: String, CodingKey { case target, count, last, lastDuration }

    /// Creates a series of failures.
    public init(target: String, count: Int, last: Failure, lastDuration: Duration) {
        self.target = target
        self.count = count
        self.last = last
        self.lastDuration = lastDuration
    }

    /// "3 probes of tcp:127.0.0.1:6379 failed, the last after 3.00 s: no answer".
    public var description: String {
        let subject = count == 1 ? "a probe of \(target) failed" : "\(count) probes of \(target) failed, the last"
        return "\(subject) after \(lastDuration.brief): \(last)"
    }
}
