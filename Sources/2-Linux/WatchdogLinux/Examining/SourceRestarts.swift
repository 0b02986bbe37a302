// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// When a source of examiners that has ended is started again: soon, and later each time if it does not last.
///
/// Pure: time is passed in.
struct SourceRestarts {
    /// The pause before the first start.
    static let shortest = Duration.milliseconds(100)
    /// Each pause is twice the last one, up to this.
    static let longest = Duration.seconds(60)
    /// A source that has run for so long is started again as if it were the first.
    static let lasting = Duration.seconds(60)

    private var pause = shortest
    private var startedAt: Instant?

    /// Whether the end of the source is news: the ends of those that do not last are not.
    private(set) var isNews = false

    init(startedAt: Instant) { self.startedAt = startedAt }

    mutating func started(at now: Instant) { startedAt = now }

    /// Notes that the source has ended, or could not be started.
    ///
    /// - Returns: when to start the next one.
    mutating func ended(at now: Instant) -> Instant {
        let hasLasted = startedAt.map { now - $0 >= Self.lasting } ?? false
        if hasLasted { pause = Self.shortest }
        isNews = hasLasted || pause == Self.shortest
        startedAt = nil
        defer { pause = min(pause * 2, Self.longest) }
        return now + pause
    }
}
