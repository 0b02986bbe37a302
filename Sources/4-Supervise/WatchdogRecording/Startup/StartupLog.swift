// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// The kernel's records of a program's startup, reduced to a value of fixed size.
///
/// It follows one thread, the process's first, from the execution of the program, and resets when the process executes
/// another program. Its breakpoints are set while the program already runs, so a boundary may be missed: its time is
/// then unknown, and the next phase starts earlier.
public struct StartupLog: Hashable, Sendable {
    /// A boundary that the program passed.
    public struct Moment: Hashable, Sendable {
        /// The time.
        public let time: Instant
        /// The thread's use of the time since the execution of the program.
        public let account: ThreadTime

        /// Creates a moment.
        public init(time: Instant, account: ThreadTime = ThreadTime()) {
            self.time = time
            self.account = account
        }
    }

    private enum State: Hashable {
        case running, preempted, blocked
        case gone(since: Instant)
    }

    /// The state of one executed program.
    private struct Program: Hashable {
        var mapped: Moment?
        var relocated: Moment?
        var entered: Moment?
        var main: Moment?
        /// Whether anything was mapped since the execution.
        var hasMapping = false
        /// Whether libraries were mapped after the relocation: later mappings are from dlopen(3).
        var isLoaded = false
        /// The stable hashes of the files that have a writable mapping.
        var writable: Set<UInt64> = []
    }

    /// Breakpoints that were set in a running program.
    public struct Watch: Hashable, Sendable {
        /// The boundaries with breakpoints.
        public let boundaries: Set<LaunchBoundary>
        /// The time at which the program was examined for them: the breakpoints apply to the program of that time.
        public let examined: Instant
        /// The time at which they were set: a boundary that the program passed earlier is missed.
        public let set: Instant

        /// Creates a watch.
        public init(boundaries: Set<LaunchBoundary>, examined: Instant, set: Instant) {
            self.boundaries = boundaries
            self.examined = examined
            self.set = set
        }
    }

    /// The maximum number of files: a process maps few before its entry, unless it is hostile.
    private static let fileLimit = 4_096
    /// The end of a process is noticed within this time after that of its last thread.
    private static let leaving = Duration.seconds(1)

    private let process: Int32
    /// The execution of the current program; nil before the first.
    public private(set) var executed: Instant?
    private var program = Program()
    private var state = State.running
    private var since = Instant(nanoseconds: 0)
    private var account = ThreadTime()
    private var watch: Watch?
    /// The number of records since the execution that the kernel dropped: times may then be wrong.
    public private(set) var lost = 0
    /// Whether the recording stopped before the program's end, because there were too many records.
    public private(set) var isCut = false
    /// Whether the kernel took the events away in the execve(2).
    ///
    /// It does so where the program's file changes its privileges, or may not be read: `begin_new_exec()` in fs/exec.c.
    public private(set) var isWithdrawn = false

    /// Creates the log of a process before its execve(2).
    public init(process: Int32) { self.process = process }

    /// Whether every boundary has been passed, so that no breakpoint is needed anymore.
    public var hasReachedMain: Bool { program.main != nil }

    /// Records that breakpoints have been set; call it before taking their records.
    public mutating func note(_ watch: Watch) {
        guard executed.map({ watch.examined >= $0 }) ?? true else { return }
        self.watch = watch
    }

    /// Whether all that the thread did since the execution was recorded.
    public var isComplete: Bool { lost == 0 && !isCut && !isWithdrawn }

    /// Records that the recording has stopped, because there are too many records.
    public mutating func cut() { isCut = true }

    /// Whether a breakpoint would show that the current program passes the boundary; lost records may have been of
    /// another execution.
    private func isWatched(_ boundary: LaunchBoundary) -> Bool {
        lost == 0 && watch?.boundaries.contains(boundary) == true
    }

    // MARK: - Records

    /// Processes the next records, in the order in which the kernel wrote them.
    ///
    /// - Parameters:
    ///   - records: complete records of events that ``WatchdogRecording`` supports.
    ///   - boundaries: the boundaries by the ids of their breakpoints.
    public mutating func take(_ records: [UInt8], boundaries: [UInt64: LaunchBoundary] = [:]) {
        let streams = boundaries.mapValues { RecordStream.boundary($0, program: 0) }
        for record in PerfRecordReader(records, streams: streams, layouts: TracepointLayouts()) {
            if case .lost(let count) = record.body { lose(count) }
            if record.process == process { take(record) }
        }
    }

    private mutating func take(_ record: PerfRecord) {
        let time = Instant(nanoseconds: record.time)
        if case .name(_, isExec: true) = record.body { return restart(at: time) }
        guard executed != nil else { return }
        advance(to: time)
        switch record.body {
        case .mapping(let mapping): note(mapping, at: time)
        case .contextSwitch(let isOut, let isPreempted) where record.thread == process && !isGone:
            state = !isOut ? .running : isPreempted ? .preempted : .blocked
        case .boundary(.entry, _) where program.entered == nil && isWatched(.entry):
            program.entered = Moment(time: time, account: account)
            program.writable = []
        case .boundary(.main, _) where program.main == nil && isWatched(.main):
            program.main = Moment(time: time, account: account)
        case .exit(process):
            state = .gone(since: time)
            // A program that runs has been mapped.
            isWithdrawn = !program.hasMapping
        default: break
        }
    }

    private var isGone: Bool { if case .gone = state { true } else { false } }

    private mutating func restart(at time: Instant) {
        (executed, since, state) = (time, time, .running)
        (program, account) = (Program(), ThreadTime())
        (lost, isWithdrawn) = (0, false)
        if let watch, watch.examined < time { self.watch = nil }
    }

    /// Forgets what lost records may have changed: which mapping was the last one before the entry.
    private mutating func lose(_ count: Int) {
        lost += min(count, 1 << 32)
        guard program.entered == nil else { return }
        (program.mapped, program.relocated, program.writable) = (nil, nil, [])
        (program.hasMapping, program.isLoaded) = (true, true)
    }

    private mutating func advance(to time: Instant) {
        let span = max(.zero, time - since)
        since = max(since, time)
        switch state {
        case .running: account.running += span
        case .preempted: account.waiting += span
        case .blocked: account.blocked += span
        case .gone: break
        }
    }

    private mutating func note(_ mapping: PerfRecord.ObjectMapping, at time: Instant) {
        program.hasMapping = true
        guard mapping.path.hasPrefix("/"), !mapping.path.hasPrefix("//"), program.entered == nil, !program.isLoaded
        else { return }
        let file = FNV1a.hash(of: mapping.path)
        if mapping.isExecutable {
            if program.relocated == nil {
                program.mapped = Moment(time: time, account: account)
            } else {
                program.isLoaded = true
                program.writable = []
            }
        } else if mapping.isWritable {
            if program.writable.count < Self.fileLimit { program.writable.insert(file) }
        } else if mapping.isReadOnly, program.writable.contains(file) {
            // A RELRO segment becomes read-only after its object was relocated.
            program.relocated = Moment(time: time, account: account)
        }
    }

    // MARK: - What it means

    /// Whether the process goes on without its first thread, whose execve(2) or exit ended the recording.
    private func isLeft(at time: Instant) -> Bool {
        if case .gone(let since) = state { time - since > Self.leaving } else { false }
    }

    /// The thread's use of the time since the execution, up to a time that is not before the last record; nil if it
    /// ended long before.
    public func account(at time: Instant) -> ThreadTime? {
        guard !isLeft(at: time) else { return nil }
        var copy = self
        copy.advance(to: time)
        return copy.account
    }

    /// The completed phases, in order, with their ends.
    ///
    /// A phase without a known end is omitted, and its time is part of the next one.
    public var ended: [(phase: LaunchPhaseName, end: Moment)] {
        let ends: [(LaunchPhaseName, Moment?)] = [
            (.mapping, program.mapped), (.relocation, program.relocated), (.libraryConstructors, program.entered),
            (.ownConstructors, program.main),
        ]
        return ends.compactMap { phase, end in end.map { (phase, $0) } }
    }

    /// The current phase at a time that is not before the last record; nil if the program has passed all of them, or if
    /// unknown.
    public func open(at time: Instant) -> LaunchPhaseName? {
        guard program.main == nil, isComplete, !isLeft(at: time), let watch, isWatched(.entry) else { return nil }
        if program.entered != nil { return isWatched(.main) ? .ownConstructors : nil }
        // Breakpoints that were set after the relocation may have come too late for the entry.
        guard let relocated = program.relocated else { return program.mapped == nil ? .mapping : .relocation }
        return relocated.time > watch.set ? .libraryConstructors : nil
    }
}
