// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

/// Decides when the names that a report lacks are tried again, and how many reports may wait for it.
struct NamingTries<Job: Sendable>: Sendable {
    /// A report that waits for another try.
    struct Entry: Sendable {
        let job: Job
        fileprivate let cost: StackBacklog.Cost
        fileprivate var due: Instant
        /// How many tries there are after the next one.
        fileprivate(set) var left: Int

        /// Whether there will be no other try.
        var isLast: Bool { left == 0 }
    }

    /// How long after a failure each try comes.
    static var delays: [Duration] { [.seconds(5), .seconds(30), .seconds(120)] }
    /// The most reports that wait.
    static var countLimit: Int { 64 }
    /// The most bytes that their stacks hold.
    static var byteLimit: Int { 32 << 20 }

    private let delays: [Duration]
    private let limit: StackBacklog.Cost
    private var used = StackBacklog.Cost()
    private var waiting: [Entry] = []
    private(set) var count = 0
    private var isHurried = false

    /// Creates an empty list.
    ///
    /// - Parameter limit: 32 MiB and an eighth of the descriptors unless a test sets it.
    init(delays: [Duration] = Self.delays, limit: StackBacklog.Cost? = nil) {
        self.delays = delays
        let descriptors = (try? ResourceLimit.current(.openFiles)).map { Int(clamping: $0.soft) / 8 } ?? 128
        self.limit = limit ?? StackBacklog.Cost(bytes: Self.byteLimit, descriptors: descriptors)
    }

    /// Reserves what one more report needs; false if there is no room for it.
    mutating func reserve(_ cost: StackBacklog.Cost) -> Bool {
        guard !delays.isEmpty, count < Self.countLimit, used.bytes + cost.bytes <= limit.bytes,
            used.descriptors + cost.descriptors <= limit.descriptors
        else { return false }
        count += 1
        used.bytes += cost.bytes
        used.descriptors += cost.descriptors
        return true
    }

    /// Gives back what was reserved.
    mutating func release(_ cost: StackBacklog.Cost) {
        count -= 1
        used.bytes -= cost.bytes
        used.descriptors -= cost.descriptors
    }

    /// Adds a report for which there is a reservation.
    mutating func add(_ job: Job, _ cost: StackBacklog.Cost, at now: Instant) {
        waiting.append(
            Entry(
                job: job, cost: cost, due: isHurried ? now : now + (delays.first ?? .zero),
                left: isHurried ? 0 : delays.count - 1))
    }

    /// When the next try is due; nil if none waits.
    var due: Instant? { waiting.map(\.due).min() }

    /// Takes out the report whose turn it is; nil if none is due.
    mutating func next(at now: Instant) -> Entry? {
        guard let index = waiting.indices.min(by: { waiting[$0].due < waiting[$1].due }), waiting[index].due <= now
        else { return nil }
        return waiting.remove(at: index)
    }

    /// Puts a report back for its next try, which was not its last.
    mutating func failed(_ entry: Entry, at now: Instant) {
        var entry = entry
        entry.due = isHurried ? now : now + delays[delays.count - entry.left]
        entry.left = isHurried ? 0 : entry.left - 1
        waiting.append(entry)
    }

    /// Ends the wait of a report.
    mutating func finished(_ entry: Entry) { release(entry.cost) }

    /// Makes every report's next try its last, and due at once: watchdogd is about to end.
    mutating func hurry(at now: Instant) {
        isHurried = true
        for index in waiting.indices {
            waiting[index].due = now
            waiting[index].left = 0
        }
    }
}
