// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// When an allowance ends, and how far the app itself has extended it.
struct Deadline: Hashable, Sendable, Codable {
    enum Extension: Hashable, Sendable {
        case gained(Duration)
        case needless
        case capped
    }

    private(set) var at: Instant
    /// The sum of all extensions.
    private(set) var extended = Duration.zero

    private enum CodingKeys: String, CodingKey { case at, extended }

    init(_ instant: Instant) {
        at = instant
    }

    mutating func move(to instant: Instant) { at = instant }

    /// Extends the deadline so that the app has `duration` left, if that is more than it has now, within the cap on all
    /// its extensions.
    ///
    /// - Parameter left: what the app has left; nil for the time until the deadline.
    mutating func extend(
        by duration: Duration, having left: Duration? = nil, cap: Duration, at now: Instant
    ) -> Extension {
        let left = left ?? at - now
        let wanted = min(duration, cap) - left
        guard wanted > .zero else { return .needless }
        let gained = min(wanted, cap - extended)
        guard gained > .zero, left + gained > .zero else { return .capped }
        extended += gained
        at = at + gained
        return .gained(gained)
    }
}

/// Tells progress from repetition: an extension counts only with a token that differs from the previous one.
struct Progress: Hashable, Sendable, Codable {
    /// The latest token.
    private(set) var last: String?

    private enum CodingKeys: String, CodingKey { case last }

    init(_ last: String? = nil) {
        self.last = last
    }

    /// Records a token; returns whether its extension counts.
    mutating func admits(_ token: String?, _ fairness: Fairness) -> Bool {
        guard let token, token != last else { return fairness.allowsBlindExtension }
        last = token
        return true
    }
}
