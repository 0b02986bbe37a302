// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The records of a log in order of time, without those of other programs.
struct RecordTimeline {
    /// In order of time.
    private(set) var records: [PerfRecord] = []
    /// The last known names and priorities of threads that woke the program's threads.
    private(set) var wakers: [Int32: (name: String, priority: Int)] = [:]
    /// The program's threads: the main one, and those that it or its descendants created.
    private(set) var ownThreads: Set<Int32>
    private(set) var lost = 0

    init(_ log: LaunchLog) {
        let reader = PerfRecordReader(log.records, streams: log.streams, layouts: log.layouts)
        ownThreads = [log.process]
        for case .created(_, let thread, _) in reader.lazy.map(\.body) { ownThreads.insert(thread) }
        let limit = log.stopped.nanoseconds
        var wakerThreads: Set<Int32> = []
        for record in reader {
            if case .lost(let count) = record.body {
                lost += min(count, 1 << 40)
                continue
            }
            guard record.time >= log.requested.nanoseconds, record.time <= limit, isRelevant(record) else { continue }
            if case .waking(_, false) = record.body { wakerThreads.insert(record.thread) }
            records.append(record)
        }
        // Rings are read one after the other, and only each by itself is in order.
        records = records.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
            \.element)
        for case .scheduled(let change) in reader.lazy.map(\.body) where wakerThreads.contains(change.nextThread) {
            wakers[change.nextThread] = (change.nextName, change.nextPriority)
        }
    }

    private func isRelevant(_ record: PerfRecord) -> Bool {
        switch record.body {
        case .scheduled(let change):
            ownThreads.contains(change.previousThread) || ownThreads.contains(change.nextThread)
        case .waking(let thread, _): ownThreads.contains(thread)
        default: true
        }
    }
}
