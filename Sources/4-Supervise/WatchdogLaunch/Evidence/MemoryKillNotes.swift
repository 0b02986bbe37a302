// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Notes of the memory kill count of an app's cgroup.
///
/// The counter covers all processes and all the time since the launch: only an increase shortly before an end may
/// explain that end. The kernel counts when it kills, which may be seconds before the process is gone, and a note taken
/// between the two says nothing. So only a note that is some seconds old counts.
struct MemoryKillNotes {
    /// The time between notes, and the age at which a note can explain an end.
    static let interval = Duration.seconds(5)
    /// An older note does not show what came shortly before the end.
    static let freshness = Duration.seconds(30)

    private struct Note {
        let count: Int
        let time: Instant
    }

    private var latest: Note?
    private var previous: Note?
    /// The time of the last check; without a counter, this keeps each message from checking again.
    private var lookedAt: Instant?

    /// Notes the count at a launch, before anything can have happened; nil if there is no counter.
    mutating func launched(_ count: Int?, at now: Instant) {
        lookedAt = now
        latest = count.map { Note(count: $0, time: now) }
        previous = latest
    }

    /// Whether another note is due.
    func isDue(at now: Instant) -> Bool { lookedAt.map { now - $0 >= Self.interval } ?? true }

    /// Notes the count; nil if there is no counter.
    mutating func note(_ count: Int?, at now: Instant) {
        guard isDue(at: now) else { return }
        lookedAt = now
        guard let count else { return }
        previous = latest
        latest = Note(count: count, time: now)
    }

    /// The number of kills shortly before now; nil if unknown.
    func recent(of count: Int, at now: Instant) -> Int? {
        let old = latest.flatMap { now - $0.time >= Self.interval ? $0 : nil } ?? previous
        guard let old, now - old.time <= Self.freshness else { return nil }
        return max(0, count - old.count)
    }
}
