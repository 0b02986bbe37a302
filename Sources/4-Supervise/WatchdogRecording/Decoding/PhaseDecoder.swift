// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Finds the phases of a launch.
struct PhaseDecoder {
    /// The times at which the last executed program reached each boundary, in nanoseconds of the clock.
    private var reached: [LaunchBoundary: [Int64]] = [:]
    private var accounts: [(time: Int64, account: ThreadTime)] = []
    /// The end of the last executable mapping between the dynamic linker's two reports.
    private(set) var mapped: Int64?
    /// Whether an object was relocated.
    private var hasRelocated = false
    /// The time at which the dynamic linker mapped its first library.
    private var firstMapping: Int64?
    private let log: LaunchLog
    private let execution: Int64?

    /// The time at which all objects were relocated.
    var relocated: Int64? {
        let hits = reached[.debugState] ?? []
        return isTwofold ? (hits.count > 1 ? hits[1] : nil) : hits.first
    }

    /// The time at which the dynamic linker began to map libraries.
    var mappingBegan: Int64? { isTwofold ? reached[.debugState]?.first : firstMapping }
    /// The start of `main`; nil if unknown.
    var mainBegan: Int64? { reached[.main]?.first }
    /// The end of the libraries' constructors; nil if unknown.
    var entered: Int64? { reached[.entry]?.first }

    /// Whether the dynamic linker reports to debuggers twice, like glibc, or once, like musl.
    private var isTwofold: Bool { image?.runtime != "musl" }
    private var image: ProgramImage? { log.executions.last?.image }

    init(_ log: LaunchLog, _ timeline: RecordTimeline) {
        self.log = log
        let program = log.executions.count - 1
        // The recorder's own stop may be slightly later than the kernel's record.
        var lastExec: Int64?
        for record in timeline.records where record.process == log.process {
            switch record.body {
            case .name(_, isExec: true): lastExec = record.time
            case .boundary(let boundary, program) where !log.isReplaced:
                reached[boundary, default: []].append(record.time)
            default: break
            }
        }
        for stop in log.stops where stop.program == program && !log.isReplaced {
            reached[stop.boundary, default: []].append(stop.time.nanoseconds)
            if let account = stop.accounting { accounts.append((stop.time.nanoseconds, account)) }
        }
        execution = lastExec ?? log.executions.last?.time.nanoseconds
        findMappings(timeline)
    }

    private mutating func findMappings(_ timeline: RecordTimeline) {
        guard let begin = isTwofold ? reached[.debugState]?.first : reached[.linker]?.first else { return }
        let end = relocated ?? log.stopped.nanoseconds
        var writable: Set<String> = []
        for record in timeline.records
        where record.process == log.process && record.time > begin && record.time < end {
            guard case .mapping(let mapping) = record.body, mapping.path.hasPrefix("/") else { continue }
            firstMapping = firstMapping ?? record.time
            if mapping.isExecutable { mapped = record.time }
            // A RELRO segment becomes read-only after the object's writable segment was mapped.
            if mapping.isWritable { writable.insert(mapping.path) }
            if mapping.isReadOnly, writable.contains(mapping.path) { hasRelocated = true }
        }
    }

    /// The phases, without gaps from the request to the end of the recording.
    func phases(main: ThreadLane?, marks: [LaunchMark]) -> [LaunchPhase] {
        let end = log.end.time - log.requested
        var phases: [LaunchPhase] = []
        var cursor = Duration.zero
        func add(_ kind: LaunchPhase.Kind, until time: Duration, isComplete: Bool = true) {
            let time = min(max(time, cursor), end)
            phases.append(LaunchPhase(kind: kind, begin: cursor, end: time, isComplete: isComplete))
            cursor = time
        }
        let isCut = log.end.kind == .killed || log.end.kind == .timeLimit
        var isOpen = false
        for (kind, time, isExpected) in steps {
            if let time {
                add(kind, until: offset(time))
            } else if isExpected {
                add(kind, until: end, isComplete: log.end.kind != .exit && !isCut)
                isOpen = true
                break
            }
        }
        if !isOpen {
            let hello = marks.first { $0.kind == .hello }.map(\.time)
            if let hello, hello < end { add(.main, until: hello) }
            add(hello == nil ? .main : .application, until: end, isComplete: !isCut)
        }
        let last = phases.removeLast()
        phases = phases.filter { $0.wall > .zero } + [last]
        return account(phases + afterwards(from: end, marks), main)
    }

    /// The boundaries that a program of this kind passes before `main`: the phase before each, the time at which it was
    /// reached, and whether a missing time means that it was not.
    private var steps: [(LaunchPhase.Kind, Int64?, Bool)] {
        let exec: [(LaunchPhase.Kind, Int64?, Bool)] = [(.request, execution, true)]
        guard let image, log.rung < .d, !log.isReplaced, image.boundaries[.entry] != nil else { return exec }
        let own = (LaunchPhase.Kind.ownConstructors, mainBegan, image.boundaries[.main] != nil)
        guard image.kind == .dynamic, image.boundaries[.linker] != nil else {
            return exec + [(.exec, entered, true), own]
        }
        let knowsLinker = image.boundaries[.debugState] != nil
        return exec + [
            (.exec, reached[.linker]?.first, true), (.linkerStart, mappingBegan, knowsLinker && isTwofold),
            (.mapping, isMappingOpen ? nil : mapped, isMappingOpen), (.relocation, relocated, knowsLinker),
            (.libraryConstructors, entered, true),
            own,
        ]
    }

    /// Whether the dynamic linker failed, or the program was killed, before the first object was relocated.
    private var isMappingOpen: Bool { log.rung <= .b && relocated == nil && !hasRelocated }

    private func afterwards(from end: Duration, _ marks: [LaunchMark]) -> [LaunchPhase] {
        var phases: [LaunchPhase] = []
        var cursor = end
        for (mark, kind) in [(LaunchMark.Kind.useful, LaunchPhase.Kind.untilUseful), (.extendedEnd, .extended)] {
            guard let time = marks.last(where: { $0.kind == mark })?.time, time > cursor else { continue }
            phases.append(LaunchPhase(kind: kind, begin: cursor, end: time))
            cursor = time
        }
        return phases
    }

    private func account(_ phases: [LaunchPhase], _ main: ThreadLane?) -> [LaunchPhase] {
        let stops = stops(of: main)
        return phases.map { phase in
            var phase = phase
            let stopped = stops.reduce(Duration.zero) { sum, stop in
                sum + max(min(stop.end, phase.end) - max(stop.begin, phase.begin), .zero)
            }
            phase.stopped = min(stopped, phase.wall)
            phase.time = main?.time(from: phase.begin, to: phase.end) ?? stoppedTime(phase)
            return phase
        }
    }

    /// The recorder's stops of the program: from its lane or, without one, from the recorder's own times.
    private func stops(of main: ThreadLane?) -> [(begin: Duration, end: Duration)] {
        if let main, !main.spans.isEmpty {
            return main.spans.filter(\.isRecorderStop).map { (begin: $0.begin, end: $0.end) }
        }
        let seen =
            log.executions.map { (time: $0.time, released: $0.released) }
            + log.stops.map { (time: $0.time, released: $0.released) }
        return seen.compactMap { stop in
            stop.released.map { (begin: stop.time - log.requested, end: $0 - log.requested) }
        }
    }

    /// The CPU time between two stops, if both ends of a phase are stops.
    private func stoppedTime(_ phase: LaunchPhase) -> ThreadTime? {
        guard let first = accounts.first(where: { offset($0.time) == phase.begin })?.account,
            let last = accounts.first(where: { offset($0.time) == phase.end })?.account
        else { return nil }
        let running = max(last.running - first.running, .zero)
        let waiting = max(last.waiting - first.waiting, .zero)
        return ThreadTime(
            running: running, waiting: waiting, blocked: max(phase.ownWall - running - waiting, .zero))
    }

    private func offset(_ time: Int64) -> Duration { .nanoseconds(time - log.requested.nanoseconds) }
}
