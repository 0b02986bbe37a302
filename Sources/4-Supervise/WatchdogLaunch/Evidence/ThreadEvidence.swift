// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogCapture
package import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport
package import WatchdogVerdict

/// What can be observed of one thread of an app from outside: its state, its times, and what it waits for.
///
/// Isolation: the loop's thread.
package final class ThreadEvidence {
    /// A reading from the start of an allowance, or soon afterwards: evidence is the difference from it.
    private struct Window {
        let start: ProcessProbe.Usage
        let machine: MachineCPU?
    }

    private let host: Host
    private let tenant: Tenant
    private let cgroup: Cgroup?
    /// How much older the machine's figures may be than those of the process.
    private let precision: Duration
    /// The process that is examined.
    package private(set) var pid: Int32?
    package private(set) var startTime: UInt64?
    /// Nil if the process was gone before it could be examined.
    private var probe: ProcessProbe?
    @Boxed private var window: Window?
    /// Whether the process has just been started, so that what it has used since is all that it has ever used.
    private var isNew = false
    /// The number of the check that will read the window.
    private var reading: Int?
    @Boxed private var observation: ProcessProbe.Observation?
    /// What the last ``inspect()`` asked about the thread's system call.
    private(set) var blocking: BlockingEvidence?
    /// When to ask that ahead of a deadline, and the number of the check that will do so.
    private var foresightDue: Instant?
    private var foreseeing: Int?
    /// What was asked then.
    private var foreseen: (foresight: Foresight, blocking: BlockingEvidence)?

    init(_ host: Host, of tenant: Tenant, cgroup: Cgroup?, precision: Duration) {
        self.host = host
        self.tenant = tenant
        self.cgroup = cgroup
        self.precision = precision
    }

    deinit {
        host.pacer.cancel(reading)
        host.pacer.cancel(foreseeing)
    }

    /// The thread; nil if it cannot be examined.
    package var thread: Int32? { probe?.thread }

    /// Whether the last ``inspect()`` found the process.
    var hasObservation: Bool { observation != nil }

    /// Examines this process from now on.
    ///
    /// - Parameters:
    ///   - startTime: its start time, if that is known.
    ///   - thread: the thread; nil for the first one.
    ///   - isNew: whether it has just been started.
    package func follow(_ pid: Int32, startTime: UInt64? = nil, thread: Int32? = nil, isNew: Bool = false) {
        self.pid = pid
        self.isNew = isNew
        self.startTime = startTime ?? ProcessStat.read(pid)?.startTime
        host.pacer.cancel(reading)
        probe = (try? ProcessProbe(pid, thread: thread)) ?? (try? ProcessProbe(pid))
        window = nil
    }

    func followMainLoop(to thread: Int32?) {
        guard let pid, thread ?? pid != probe?.thread else { return }
        // The thread may be gone, or never have belonged to the app; then keep the previous one.
        guard let probe = try? ProcessProbe(pid, thread: thread) else { return }
        self.probe = probe
    }

    /// Starts a window within `patience`.
    ///
    /// Waits for a CPU before that are not credited to the app, so patience must be a small part of an allowance. A
    /// healthy app shows its next sign of life earlier, and then nothing is read.
    package func beginWindow(patience: Duration) {
        window = nil
        host.pacer.cancel(reading)
        guard patience > .zero else { return readWindow() }
        isNew = false
        // Align to a common tick: one wake-up reads the windows of many apps.
        let tick = max(1, min(patience.nanoseconds / 8, 50_000_000))
        let delay = patience - .nanoseconds((Instant.now() + patience).nanoseconds % tick)
        reading = host.pacer.schedule(after: delay) { [unowned self] in readWindow() }
    }

    private func readWindow() {
        reading = nil
        let isNew = isNew
        self.isNew = false
        window = probe.map {
            Window(start: isNew ? .none(at: .now()) : $0.usage(), machine: host.machineCPU(notOlderThan: precision))
        }
    }

    /// Starts a window if there is none.
    func ensureWindow() {
        isNew = false
        if window == nil { readWindow() }
    }

    /// The window in the form that is saved with each sign of life.
    var savedWindow: LaunchPulse.Window? {
        window.map {
            LaunchPulse.Window(at: $0.start.at, processCPUTime: $0.start.processCPUTime, schedule: $0.start.schedule)
        }
    }

    package func resume(_ saved: LaunchPulse.Window?) {
        window = saved.map {
            Window(
                start: ProcessProbe.Usage(at: $0.at, schedule: $0.schedule, processCPUTime: $0.processCPUTime),
                machine: nil)
        }
    }

    package func inspect() -> Evidence {
        observation = probe?.observe(readsSyscall: false)
        blocking = nil
        guard let observation else { return Evidence(state: nil) }
        if Self.isBlocked(observation) { blocking = foreseenBlocking(at: observation) ?? examineCall() }
        foreseen = nil
        return Evidence(
            state: observation.state.letter.first,
            tracer: observation.tracer,
            isFrozen: cgroup?.isFrozen ?? false,
            isDumpingCore: observation.isDumpingCore,
            runTime: difference(observation.schedule?.runTime, window?.start.schedule?.runTime) ?? .zero,
            runDelay: runDelay(observation) ?? .zero
        )
    }

    /// The thread's counters now, for ``evidence(since:)``; nil if they cannot be read.
    package func usage() -> ProcessProbe.Usage? { probe?.usage() }

    /// Reads what ``inspect()`` does, for a window of another allowance, and leaves what was observed for this one.
    package func evidence(since start: ProcessProbe.Usage?) -> Evidence {
        guard let observation = probe?.observe(readsSyscall: false) else { return Evidence(state: nil) }
        return Evidence(
            state: observation.state.letter.first, tracer: observation.tracer, isFrozen: cgroup?.isFrozen ?? false,
            isDumpingCore: observation.isDumpingCore,
            runTime: difference(observation.schedule?.runTime, start?.schedule?.runTime) ?? .zero,
            runDelay: start.flatMap { runDelay(observation, since: $0) } ?? .zero)
    }

    /// Drops the last observation: what was seen of an ended process is not evidence of its end.
    func forgetObservation() {
        observation = nil
        blocking = nil
    }

    /// The run delay of the thread in this window.
    ///
    /// The kernel adds a wait for a CPU to the run delay only when the wait is over. A thread that is runnable and has
    /// not run since the window began has waited all that time, which no counter shows.
    private func runDelay(_ observation: ProcessProbe.Observation) -> Duration? {
        window.flatMap { runDelay(observation, since: $0.start) }
    }

    private func runDelay(_ observation: ProcessProbe.Observation, since usage: ProcessProbe.Usage) -> Duration? {
        guard let start = usage.schedule, let end = observation.schedule else { return nil }
        if observation.state == .running, start.timeslices == end.timeslices, start.runTime == end.runTime {
            return observation.at - usage.at
        }
        return difference(end.runDelay, start.runDelay)
    }

    private func difference(_ end: Duration?, _ start: Duration?) -> Duration? {
        guard let end, let start else { return nil }
        return max(.zero, end - start)
    }

    /// The full results of the last ``inspect()``; nil stands for what could not be read.
    ///
    /// - Parameter isStoppedByUs: whether watchdogd stopped the app, which is not evidence about the app.
    package func details(isStoppedByUs: Bool) -> HangEvidence {
        var result = HangEvidence(processorCount: host.facts.processorCount)
        guard let observation else { return result }
        if let window {
            result.window = observation.at - window.start.at
            result.runTime = difference(observation.schedule?.runTime, window.start.schedule?.runTime)
            result.runDelay = runDelay(observation)
        }
        result.state = observation.state.letter.first
        result.tracer = Int(observation.tracer ?? 0)
        result.isFrozen = isStoppedByUs ? nil : cgroup?.isFrozen
        result.waitChannel = observation.waitChannel
        return result
    }

    private static func isBlocked(_ observation: ProcessProbe.Observation) -> Bool {
        [.sleeping, .uninterruptible].contains(observation.state)
    }

    // MARK: - What the thread waits for

    /// Asks at an instant what the thread is blocked in, for an ``inspect()`` soon afterwards; nil for never.
    func lookAhead(at instant: Instant?) {
        guard instant != foresightDue else { return }
        foresightDue = instant
        host.pacer.cancel(foreseeing)
        foreseeing = instant.map { instant in
            host.pacer.schedule(after: max(.zero, instant - .now())) { [unowned self] in foresee() }
        }
    }

    /// How long copiers are kept for apps that may hang together.
    private static let burst = Duration.seconds(1)

    private func foresee() {
        foreseeing = nil
        foreseen = nil
        guard let observation = probe?.observe(readsSyscall: false), Self.isBlocked(observation),
            let position = position(in: observation), let blocking = examineCall(isAhead: true)
        else { return }
        foreseen = (Foresight(position, at: observation.at), blocking)
        // The captures that may follow need copiers, and forks would delay them.
        let burst = host.copiers.keepBurst()
        _ = host.pacer.schedule(after: Self.burst) { withExtendedLifetime(burst) {} }
    }

    /// What was asked ahead, if the thread has not moved since.
    private func foreseenBlocking(at observation: ProcessProbe.Observation) -> BlockingEvidence? {
        guard let foreseen, !foreseen.blocking.isUnanswered,
            foreseen.foresight.holds(at: position(in: observation), observation.at)
        else { return nil }
        return foreseen.blocking
    }

    private func position(in observation: ProcessProbe.Observation) -> Foresight.Position? {
        guard let thread, let schedule = observation.schedule else { return nil }
        return Foresight.Position(thread: thread, runTime: schedule.runTime, timeslices: schedule.timeslices)
    }

    /// Asks what the thread is blocked in; the answer may come too late to be used.
    ///
    /// - Parameter isAhead: whether that is before a deadline.
    private func examineCall(isAhead: Bool = false) -> BlockingEvidence? {
        guard let pid, let thread, let startTime, let examiner = host.examiner else { return nil }
        let blocking = BlockingEvidence(host.pacer)
        let process = ExaminedProcess(id: pid, startTime: startTime, cgroup: cgroup?.path)
        let tenant = tenant
        examiner.ask(.waits(of: process, thread: thread, isWithinApp: true, isAhead: isAhead), of: tenant) { answer in
            guard let answer else { return blocking.end(nil, because: examiner.refusal(of: tenant)) }
            guard answer.mayAwaitStranger else { return blocking.end(answer) }
            blocking.note(answer)
            examiner.ask(.waits(of: process, thread: thread), of: tenant) { blocking.end($0 ?? answer) }
        }
        return blocking
    }

    /// Asks where the wait that the last ``inspect()`` found leads across processes; to be called once everything is decided.
    ///
    /// The capture, and with it the kill, waits for the answer. So nobody is asked if the wait was examined ahead and is one
    /// that leads nowhere.
    ///
    /// - Parameter members: the app's own processes, called for a trail that leads to another process.
    package func follow(members: @escaping () -> [Int32]) {
        guard let blocking, !blocking.staysInProcess, let pid, let thread, let startTime, let examiner = host.examiner
        else { return }
        blocking.follow()
        let process = ExaminedProcess(id: pid, startTime: startTime, cgroup: cgroup?.path)
        examiner.ask(.trail(of: process, thread: thread), of: tenant) { [host, tenant] trail in
            blocking.followed(trail) { trail in
                let strangers = trail.hops.isEmpty ? [] : trail.strangers(to: Set(members()))
                return strangers.isEmpty ? nil : host.captureThread.look(at: strangers, for: tenant)
            }
        }
    }

    func cpuStatistics() -> CPUStatistics? {
        guard let window, let before = window.machine, let after = MachineCPU.read(), let observation else {
            return nil
        }
        return CPUStatistics(
            systemUser: max(.zero, after.userTime - before.userTime),
            systemKernel: max(.zero, after.systemTime - before.systemTime),
            application: max(.zero, observation.processCPUTime - window.start.processCPUTime),
            elapsed: observation.at - window.start.at
        )
    }

    /// The fraction of the time since the launch, 0 to 1, in which the thread neither ran nor waited for a CPU.
    func blockedShare(of duration: Duration) -> Double? {
        guard duration > .zero, let schedule = probe?.usage().schedule else { return nil }
        let busy = schedule.runTime + schedule.runDelay
        return max(0, min(1, 1 - Double(busy.nanoseconds) / Double(duration.nanoseconds)))
    }

    /// How long the thread has waited for a CPU so far.
    var runDelay: Duration { probe?.usage().schedule?.runDelay ?? .zero }
}
