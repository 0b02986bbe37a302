// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogBase
import WatchdogLinux
import WatchdogVerdict

/// Records one launch of a program.
///
/// Isolation: everything happens on the calling thread, which traces the program; it should be the process's only
/// thread, because it blocks signals.
public final class LaunchRecorder {
    /// The time between SIGTERM and SIGKILL.
    private static let allowance = Duration.seconds(2)
    private static let killLimit = Duration.seconds(1)

    let request: RecordingRequest
    let tracer: Tracer
    let events: EventSet?
    var log: LaunchLog
    /// The number of the kernel's uprobe events; nil if constructors are not timed.
    let probeType: UInt32?
    private let ladder: RungLadder
    private let messages: LaunchMessages
    private let signals: OwnedDescriptor
    private let held: HeldProgram
    private let tree: ProcessTree
    private let requestedTime: WallTime
    private var judge: LaunchEndJudge
    private var look: LaunchLook
    private var costs = LaunchCosts()
    private var hasIdled = false
    private var isExecuted = false
    /// The kernel's account of the main thread at the start of its recording.
    var base: ThreadTime?
    /// The boundaries in the process's debug registers, in order, with their addresses.
    var registers: [(boundary: LaunchBoundary, address: UInt64)] = []
    private var ending: wd_record_event_of_process?
    var notes: [String] = []
    /// The reasons why constructors of the current program are not timed.
    var untimed: [String] = []
    /// Whether the constructors of the current program were searched for.
    var isSearched = false

    /// Records a launch, from the request to its end, and terminates the program or leaves it running.
    ///
    /// Termination includes orphans if this process is a ``Subreaper``; otherwise, only the program's current
    /// descendants.
    ///
    /// - Throws: ``RecordingError`` for a program that cannot be executed.
    public static func record(_ request: RecordingRequest) throws(RecordingError) -> RecordedLaunch {
        let recorder = try LaunchRecorder(request)
        return try recorder.run()
    }

    private init(_ request: RecordingRequest) throws(RecordingError) {
        self.request = request
        messages = try linux { () throws(LinuxError) in try LaunchMessages() }
        signals = try linux { () throws(LinuxError) in
            let number = wd_record_signals()
            guard number >= 0 else { throw LinuxError("receive signals", Errno(rawValue: errno)) }
            return OwnedDescriptor(taking: number)
        }
        let environment = messages.environment(from: request.environment)
        let appEnd = messages.sockets.programEnd?.number ?? -1
        held = try linux { () throws(LinuxError) in
            try HeldProgram(request, environment: environment, inherited: appEnd)
        }
        messages.sockets.releaseProgramEnd()
        let startTime = ProcessStat.read(held.pid)?.startTime ?? 0
        tree = ProcessTree(root: held.pid, startTime: startTime, marker: messages.marker)
        Self.raiseDescriptorLimit()
        tracer = Tracer(held.pid)
        ladder = try RungLadder(request, process: held.pid, tracer: tracer)
        probeType =
            request.timesConstructors
            ? try ConstructorProbes.check(request, ladder.rung, ladder.attempts) : nil
        events = ladder.events
        base = ProcessFiles.account(held.pid, held.pid)
        look = LaunchLook(held.pidfd)
        requestedTime = WallTime.now()
        let requested = Instant.now()
        log = LaunchLog(requested: requested, process: held.pid, rung: ladder.rung)
        log.probes = probeType.map { _ in [] }
        judge = LaunchEndJudge(goal: request.goal, requested: requested, limit: request.timeLimit)
    }

    /// Rung A opens several events for each CPU.
    private static func raiseDescriptorLimit() {
        guard let limit = try? ResourceLimit.current(.openFiles) else { return }
        try? ResourceLimit(.openFiles, soft: min(limit.hard, 1 << 16), hard: limit.hard).apply()
    }

    // MARK: The loop

    private func run() throws(RecordingError) -> RecordedLaunch {
        held.release()
        var nextLook = log.requested
        var interval = Duration.milliseconds(2)
        while !judge.isDone {
            wait(until: Instant.earliest(nextLook, judge.nextDeadline) ?? nextLook)
            // Handle this first, because a stopped process waits for it.
            followProcess()
            var now = Instant.now()
            try checkExecution(now)
            events?.drain()
            for (event, time) in messages.receive(requested: log.requested, now: now) {
                let isOpen = judge.end == nil
                judge.handle(event, at: time)
                if isOpen, judge.end != nil, ending == nil { keepCosts(at: now) }
            }
            now = Instant.now()
            if ending == nil, now >= nextLook, isExecuted {
                let isLate = judge.end == nil
                for event in look.look(at: now, names: ladder.rung != .a, checksListening: isLate) {
                    judge.handle(event, at: now)
                    keepCosts(of: event, at: now)
                }
                nextLook = now + interval
                interval = min(interval * 2, .milliseconds(10))
            } else if now >= nextLook {
                nextLook = now + .milliseconds(1)
            }
            judge.handle(.passed, at: now)
        }
        return finish()
    }

    private func wait(until time: Instant) {
        let descriptors =
            [signals.number, held.pidfd.descriptor.number] + messages.sockets.descriptors
            + (isExecuted ? [] : [held.status.number]) + (events?.readable ?? [])
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let left = max((time - .now()).nanoseconds, 0)
        poll(&entries, nfds_t(entries.count), Int32(clamping: (left + 999_999) / 1_000_000))
        var isFromKernel = false
        while case let signal = wd_record_next_signal(signals.number, &isFromKernel), signal != 0 {
            switch signal {
            case SIGCHLD: break
            // Do not forward: a terminal sends its signals to the program, too.
            case SIGINT where isFromKernel, SIGQUIT where isFromKernel: break
            default: try? held.pidfd.send(signal)
            }
        }
    }

    /// Handles an execve(2) that has failed, or succeeded without a stop.
    private func checkExecution(_ now: Instant) throws(RecordingError) {
        guard !isExecuted else { return }
        var entry = pollfd(fd: held.status.number, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 0) == 1 else { return }
        if let failure = held.failure() {
            held.abandon()
            throw .cannotExecute(request, failure)
        }
        isExecuted = true
        if !tracer.isTracing, log.executions.isEmpty {
            let path = SymbolicLink.target("/proc/\(held.pid)/exe") ?? request.executable
            log.executions.append(LaunchLog.Execution(time: min(now, judge.end?.time ?? now), path: path))
        }
    }

    private func followProcess() {
        // Check before reaping, after which the kernel's accounts are gone.
        let hasExited = held.pidfd.hasExited
        if log.threads.isEmpty, hasExited { collectFacts() }
        changes: for _ in 0..<1000 {
            switch tracer.next(mayReap: hasExited) {
            case .none: break changes
            case .handled: continue
            case .executed:
                isExecuted = true
                executed(at: Instant.now())
            case .reached(let indices): reached(indices, at: Instant.now())
            case .ended(let event):
                ending = event
                let now = Instant.now()
                log.marks.append((.exit, now, nil))
                judge.handle(
                    event.change == WD_RECORD_EXITED ? .exited(code: event.number) : .killed(signal: event.number),
                    at: now)
                break changes
            }
        }
    }

    // MARK: The end

    private func collectFacts() {
        log.threads = facts
        // The execve(2) of another thread, which is not traced, puts that thread in place of the traced one: ptrace(2).
        guard tracer.isTracing, let status = ProcessStatus.read(held.pid), status.tracer == nil else { return }
        tracer.forget()
        log.isReplaced = true
        notes.append(
            "A thread other than the program's first executed a program: the phases after that are unknown, and part of"
                + " main.")
    }

    private var facts: [LaunchLog.ThreadFacts] {
        ProcessFiles.tree(of: held.pid).flatMap { process in
            Procfs.threads(of: process).compactMap { thread in
                ProcessFiles.facts(process, thread, since: thread == held.pid ? base : nil)
            }
        }
    }

    private func keepCosts(of event: LaunchEndJudge.Event, at now: Instant) {
        switch event {
        case .listening: keepCosts(at: now)
        case .idle(let since) where !hasIdled:
            hasIdled = true
            keepCosts(at: since, look.resourcesBeforeWait)
        default: break
        }
    }

    private func keepCosts(at time: Instant, _ resources: LaunchResources? = nil) {
        costs.keep(
            LaunchCosts.Moment(
                time: time, resources: resources ?? ProcessFiles.resources(of: held.pid),
                threads: log.rung > .b ? facts : []))
    }

    /// The usage at the end of the launch; nil if the launch ended with the program.
    private var costsAtEnd: LaunchCosts.Moment? {
        guard let end = judge.end, end.kind != .exit, end.kind != .killed else { return nil }
        return costs.moment(at: end.time)
    }

    private func finish() -> RecordedLaunch {
        if log.threads.isEmpty { collectFacts() }
        log.stopped = Instant.now()
        events?.drain()
        let moment = costsAtEnd
        if let threads = moment?.threads, !threads.isEmpty { log.threads = threads }
        let resources =
            moment?.resources ?? ending.map { LaunchResources($0) } ?? ProcessFiles.resources(of: held.pid)
        if let end = judge.end { log.end = end }
        if let event = tracer.releaseRunning() { ending = event }
        if !request.keepsProgram {
            let program = ProgramUnderTest(held.pidfd, tree)
            program.terminate(within: Self.allowance, all: true)
            program.kill(within: Self.killLimit)
        }
        if let events {
            log.records = events.records
            log.streams = events.streams
            log.layouts = events.layouts
            log.samplingInterval = events.samplingInterval
            if events.isFull { notes.append("The recording was too large: its end is missing.") }
            events.close()
        }
        if !isSearched { log.probes = nil }
        log.looks = look.looks
        log.marks += messages.marks
        for number in 0..<512 {
            if let name = SystemCall(number: number, arguments: []).name { log.callNames[number] = name }
        }
        var (recording, stacks) = LaunchDecoder.recording(
            of: log, program: LaunchedProgram(command: request.command, executables: [], processID: held.pid),
            host: RecordingHost(
                architecture: Self.architecture, kernel: Machine.kernelRelease, processors: Machine.processorCount),
            requested: requestedTime, ladder: ladder.attempts, resources: resources)
        recording.notes += notes + untimed
        return RecordedLaunch(recording: recording, exitCode: exitCode, stacks: stacks, probes: log.probes ?? [])
    }

    private var exitCode: Int32 {
        switch log.end.kind {
        case .exit: log.end.code ?? 0
        case .killed: 128 + (log.end.code ?? 0)
        case .timeLimit: 75
        default: 0
        }
    }

    private static var architecture: String {
        var name = utsname()
        uname(&name)
        return withUnsafeBytes(of: &name.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// Converts a failed system call to a failed recording.
private func linux<Value>(_ body: () throws(LinuxError) -> Value) throws(RecordingError) -> Value {
    do throws(LinuxError) {
        return try body()
    } catch {
        throw .call(error)
    }
}

extension LaunchResources {
    fileprivate init(_ usage: wd_record_event_of_process) {
        self.init(
            user: .microseconds(usage.user_microseconds), system: .microseconds(usage.system_microseconds),
            minorFaults: Int(usage.minor_faults), majorFaults: Int(usage.major_faults),
            bytesRead: Int(usage.blocks_read) * 512, peakMemory: Int(usage.max_resident_kilobytes) << 10)
    }
}
