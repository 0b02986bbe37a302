// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Computes the duration of each constructor: from its probe to the next one, the program's first instruction, or
/// `main`.
///
/// The dynamic linker calls them one after the other, with hardly any work in between.
struct ConstructorDecoder {
    private let log: LaunchLog
    private let probes: [LaunchLog.Probe]
    private let main: ThreadLane?
    private let isMusl: Bool
    private var open: (probe: LaunchLog.Probe, time: Int64)?
    private var found: [LaunchConstructor] = []

    /// The constructors of the last executed program, in order of time; nil if they were not timed.
    static func constructors(
        of log: LaunchLog, _ timeline: RecordTimeline, main: ThreadLane?
    ) -> [LaunchConstructor]? {
        guard let probes = log.probes else { return nil }
        var decoder = ConstructorDecoder(log, probes, main)
        decoder.read(timeline)
        return decoder.found
    }

    private init(_ log: LaunchLog, _ probes: [LaunchLog.Probe], _ main: ThreadLane?) {
        self.log = log
        self.probes = probes
        self.main = main
        isMusl = log.executions.last?.image?.runtime == "musl"
    }

    private mutating func read(_ timeline: RecordTimeline) {
        let program = log.executions.count - 1
        let end = log.end.time.nanoseconds
        // Count only the first hit: other code may also call the function.
        var called: Set<Int> = []
        for record in timeline.records where record.thread == log.process && record.time <= end {
            switch record.body {
            case .constructor(let index) where probes.indices.contains(index) && probes[index].program == program:
                guard called.insert(index).inserted else { continue }
                close(at: record.time)
                open = (probes[index], record.time)
            case .boundary(.entry, program): close(at: record.time)
            case .boundary(.main, program): return close(at: record.time)
            case .exit(log.process): close(at: record.time, isComplete: false)
            default: break
            }
        }
        close(at: end, isComplete: false)
    }

    private mutating func close(at time: Int64, isComplete: Bool = true) {
        guard let (probe, begin) = open else { return }
        open = nil
        let isOwn = probe.path == log.executions.last?.path
        // Without the time of main, the program's last constructor cannot be separated from what follows.
        let isKnown = !isOwn && !isMusl || log.executions.last?.image?.boundaries[.main] != nil
        guard isComplete || isKnown else { return }
        let from = Duration.nanoseconds(begin - log.requested.nanoseconds)
        let to = max(Duration.nanoseconds(time - log.requested.nanoseconds), from)
        found.append(
            LaunchConstructor(
                object: probe.path, offset: probe.offset, isOwn: isOwn, begin: from, end: to,
                time: main?.time(from: from, to: to), isComplete: isComplete))
    }
}
