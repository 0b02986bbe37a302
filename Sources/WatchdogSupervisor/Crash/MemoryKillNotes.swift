// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

/// How often the kernel had killed in an app's cgroup for want of memory when that was noted.
///
/// The counter is that of all processes and of all the time since the launch: only what was added shortly before an end may
/// have been that end. The kernel counts when it kills, which may be seconds before the process is gone, and a note that was
/// taken between the two says nothing; so what counts is a note that is some seconds old.
struct MemoryKillNotes {
    /// From one note to the next, and from a note to an end that it can tell of.
    static let interval = Duration.seconds(5)
    /// An older note tells nothing of what came shortly before the end.
    static let freshness = Duration.seconds(30)

    private struct Note {
        let count: Int
        let time: Instant
    }

    private var latest: Note?
    private var previous: Note?
    /// Where nothing counts, it is not asked for at each message either.
    private var lookedAt: Instant?

    /// Notes the number at a launch, before anything can have happened; nil where nothing counts.
    mutating func launched(_ count: Int?, at now: Instant) {
        lookedAt = now
        latest = count.map { Note(count: $0, time: now) }
        previous = latest
    }

    /// Whether it is time for another note.
    func isDue(at now: Instant) -> Bool { lookedAt.map { now - $0 >= Self.interval } ?? true }

    /// Notes the number; nil where nothing counts.
    mutating func note(_ count: Int?, at now: Instant) {
        guard isDue(at: now) else { return }
        lookedAt = now
        guard let count else { return }
        previous = latest
        latest = Note(count: count, time: now)
    }

    /// How many kills were shortly before now; nil when that is not known.
    func recent(of count: Int, at now: Instant) -> Int? {
        let old = latest.flatMap { now - $0.time >= Self.interval ? $0 : nil } ?? previous
        guard let old, now - old.time <= Self.freshness else { return nil }
        return max(0, count - old.count)
    }
}
