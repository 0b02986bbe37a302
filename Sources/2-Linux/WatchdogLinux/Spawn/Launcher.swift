// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// Starts programs without making the loop wait for any of them.
///
/// A launch may take as long as its ``SpawnRequest/launchLimit``, because a file server does not answer or somebody has
/// stopped the child; launches do not wait for each other. A launcher that dies is replaced, and its unanswered
/// requests are repeated: none of their programs was executed.
///
/// Isolation: the loop's thread.
public final class Launcher {
    private let loop: EventLoop
    private let precedence: Bool
    /// The launcher's process; nil after it was found dead, until the next launch.
    private(set) var process: LauncherProcess?
    private var timer: Timer?
    private var launches: [ObjectIdentifier: PendingLaunch] = [:]
    /// Launches that were sent but not answered, in the order in which the launcher creates their processes.
    private var unanswered: [PendingLaunch] = []
    /// Launches that were not sent yet, because the launcher has not read earlier requests.
    private var backlog: [PendingLaunch] = []
    /// The processes of failed launches that have not exited yet.
    private var ending: [Int32: IOSource] = [:]

    /// Creates a launcher.
    ///
    /// - Parameters:
    ///   - process: A process that was started early; if it is nil or dies, another one is started.
    ///   - precedence: Whether that other process runs at real-time priority.
    ///   - loop: The loop on which launches end.
    public init(_ process: LauncherProcess?, precedence: Bool, on loop: EventLoop) throws(LinuxError) {
        self.process = process
        self.precedence = precedence
        self.loop = loop
        timer = try loop.timer(priority: .idle) { [unowned self] _ in giveUpOverdue() }
    }

    /// Begins a launch.
    ///
    /// - Parameters:
    ///   - request: The program; its descriptors may be closed after this returns.
    ///   - onHeld: Called later by the loop with the process, before that executes the program; again if the launch is
    ///     repeated because the launcher died. Not called where the kernel passes no descriptors. With it, the program is
    ///     not executed before ``PendingLaunch/confirm()``, and not at all if this process ends before that.
    ///   - onEnd: Called later by the loop, once, unless the launch is canceled: with the process as soon as it
    ///     executes the program, or with the step that failed. A failed launch leaves nothing behind.
    @discardableResult
    public func launch(
        _ request: SpawnRequest, onHeld: ((HeldProcess) -> Void)? = nil,
        onEnd: @escaping (Result<SpawnedProcess, SpawnError>) -> Void
    ) -> PendingLaunch {
        let launch = PendingLaunch(
            request, by: self, until: LaunchDeadline(request.launchLimit, from: loop.now), onHeld: onHeld, onEnd: onEnd)
        launches[ObjectIdentifier(launch)] = launch
        do throws(SpawnError) {
            try request.validate()
            try launch.holdDescriptors()
            try submit(launch)
        } catch {
            fail(launch, error)
        }
        if let timer, timer.due.map({ $0 > launch.deadline.at }) != false { timer.arm(at: launch.deadline.at) }
        return launch
    }

    /// Whether no launch is under way.
    public var isIdle: Bool { launches.isEmpty }

    /// Processes that were created but have not executed their program yet, or that are exiting because it failed.
    ///
    /// They belong to this launcher; code that reaps orphans must leave them alone.
    public var children: Set<Int32> {
        takeAllAnswers()
        sendBacklog()
        return Set(launches.values.compactMap { $0.attempt?.knownProcessID }).union(ending.keys)
    }

    // MARK: Sending

    private func submit(_ launch: PendingLaunch) throws(SpawnError) {
        guard backlog.isEmpty, try send(launch) else {
            backlog.append(launch)
            return
        }
    }

    /// - Returns: false when the launcher has no room.
    private func send(_ launch: PendingLaunch) throws(SpawnError) -> Bool {
        let attempt = try LaunchAttempt(launch.request, isHeld: launch.onHeld != nil)
        for _ in 0..<LaunchAttempt.limit {
            let process = try running()
            switch try attempt.send(to: process) {
            case .sent:
                try watch(launch, attempt)
                launch.process = process
                if launch.isConfirmed { attempt.confirm() }
                unanswered.append(launch)
                return true
            case .full:
                takeAnswers()
                // When the last request is answered, the launcher has read all of them and has room again.
                guard let last = unanswered.last else { continue }
                try? last.source?.watch(for: .readable)
                return false
            case .closed:
                replace(process)
            }
        }
        throw SpawnError(stage: .clone, errno: .tooManyReferences, operation: "create a process")
    }

    private func running() throws(SpawnError) -> LauncherProcess {
        if let process { return process }
        do throws(LinuxError) {
            let started = try LauncherProcess(precedence: precedence)
            process = started
            return started
        } catch {
            throw SpawnError(stage: .clone, errno: error.errno, operation: "create a process")
        }
    }

    private func watch(_ launch: PendingLaunch, _ attempt: LaunchAttempt) throws(SpawnError) {
        do throws(LinuxError) {
            // Before messages and exits: the process must be known when its own messages arrive.
            launch.source = try loop.onReady(
                attempt.status, for: launch.onHeld == nil ? [] : .readable, priority: .first
            ) {
                [unowned self, unowned launch] readiness in
                if readiness.contains(.hungUp) { ended(launch) } else { answered(launch) }
            }
            launch.attempt = attempt
        } catch {
            _ = attempt.giveUp()
            throw SpawnError(stage: .clone, errno: error.errno, operation: "watch the launch")
        }
    }

    // MARK: Ends

    private func answered(_ launch: PendingLaunch) {
        guard launch.attempt?.isAnswered == true else { return }
        launch.release()
        try? launch.source?.watch(for: [])
        sendBacklog()
    }

    /// Takes the answers up to the first launch without one: almost all come in the order of the requests.
    private func takeAnswers() {
        let answered = unanswered.prefix { $0.attempt?.isAnswered != false }
        unanswered.removeFirst(answered.count)
        for launch in answered { launch.release() }
    }

    private func takeAllAnswers() {
        var answered: [PendingLaunch] = []
        unanswered = unanswered.filter { launch in
            guard launch.attempt?.isAnswered != false else { return true }
            answered.append(launch)
            return false
        }
        for launch in answered { launch.release() }
    }

    private func sendBacklog() {
        takeAnswers()
        while let next = backlog.first {
            do throws(SpawnError) {
                guard try send(next) else { return }
                backlog.removeFirst()
            } catch {
                backlog.removeFirst()
                fail(next, error)
            }
        }
    }

    private func ended(_ launch: PendingLaunch) {
        guard let attempt = launch.attempt else { return }
        launch.stop()
        launch.attempt = nil
        switch attempt.end() {
        case .launched(let process):
            finish(launch, .success(process))
        case .failed(let error, let process):
            if let process { reap(process) }
            finish(launch, .failure(error))
        case .lost(let process):
            if let process { reap(process) }
            unanswered.removeAll { $0 === launch }
            if let process = launch.process { replace(process) }
            launch.attempts += 1
            do throws(SpawnError) {
                guard launch.attempts < LaunchAttempt.limit else { throw .launcherDied }
                try submit(launch)
            } catch {
                finish(launch, .failure(error))
            }
        }
        sendBacklog()
    }

    private func giveUpOverdue() {
        takeAllAnswers()
        let now = loop.now
        for launch in launches.values where launch.deadline.at <= now {
            if let failure = launch.failure {
                finish(launch, .failure(failure))
                continue
            }
            guard launch.attempt != nil else {
                backlog.removeAll { $0 === launch }
                finish(launch, .failure(SpawnError(stage: .clone, errno: .timedOut, operation: "create a process")))
                continue
            }
            guard launch.isOver(at: now) else { continue }
            let (error, isStuck) = abandon(launch)
            if isStuck, let process = launch.process { replace(process) }
            finish(launch, .failure(error))
        }
        sendBacklog()
        timer?.arm(at: launches.values.lazy.map(\.deadline.at).min())
    }

    /// Ends a launcher that is dead or stuck.
    ///
    /// Its unanswered requests end as lost and are sent to the next one.
    private func replace(_ old: LauncherProcess) {
        guard process === old else { return }
        try? old.process.send(SIGKILL)
        reap(old.process)
        process = nil
    }

    fileprivate func cancel(_ launch: PendingLaunch) {
        guard launches.removeValue(forKey: ObjectIdentifier(launch)) != nil else { return }
        backlog.removeAll { $0 === launch }
        unanswered.removeAll { $0 === launch }
        _ = abandon(launch)
        launch.end(nil)
        sendBacklog()
    }

    private func abandon(_ launch: PendingLaunch) -> (error: SpawnError, isStuck: Bool) {
        launch.stop()
        guard let attempt = launch.attempt else { return (.launcherDied, false) }
        let (error, process) = attempt.giveUp()
        if let process { reap(process) }
        return (error, !attempt.isAnswered)
    }

    /// Fails a launch later, from the loop: ``launch(_:onEnd:)`` must return the launch before its end is reported.
    private func fail(_ launch: PendingLaunch, _ error: SpawnError) {
        launch.failure = error
        // Without a call, its deadline ends it.
        launch.call = try? loop.soon(priority: .important) { [unowned self, unowned launch] in
            finish(launch, .failure(error))
        }
    }

    private func finish(_ launch: PendingLaunch, _ result: Result<SpawnedProcess, SpawnError>) {
        guard launches.removeValue(forKey: ObjectIdentifier(launch)) != nil else { return }
        launch.stop()
        takeAnswers()
        if launches.isEmpty { timer?.arm(at: nil) }
        launch.end(result)
    }

    private func reap(_ process: Pidfd) {
        ending[process.pid] = try? loop.onReadable(process.descriptor, priority: .important) { [unowned self] in
            _ = try? process.waitExit()
            ending.removeValue(forKey: process.pid)?.cancel()
        }
    }
}

/// A launch in progress.
///
/// Isolation: the loop's thread.
public final class PendingLaunch {
    fileprivate private(set) var request: SpawnRequest
    fileprivate private(set) var deadline: LaunchDeadline
    /// Dropped when the launch is over: what it captures may own the launch.
    fileprivate private(set) var onHeld: ((HeldProcess) -> Void)?
    private var onEnd: ((Result<SpawnedProcess, SpawnError>) -> Void)?
    fileprivate var attempt: LaunchAttempt?
    fileprivate var source: IOSource?
    /// The launcher that the attempt was sent to.
    fileprivate var process: LauncherProcess?
    fileprivate private(set) var isConfirmed = false
    /// How many launchers have died of the request.
    fileprivate var attempts = 0
    /// Why the launch fails without having been sent, and the call that reports it.
    fileprivate var failure: SpawnError?
    fileprivate var call: CallSource?
    private var descriptors: [OwnedDescriptor] = []
    private weak var launcher: Launcher?

    fileprivate init(
        _ request: SpawnRequest, by launcher: Launcher, until deadline: LaunchDeadline,
        onHeld: ((HeldProcess) -> Void)?,
        onEnd: @escaping (Result<SpawnedProcess, SpawnError>) -> Void
    ) {
        self.request = request
        self.launcher = launcher
        self.deadline = deadline
        self.onHeld = onHeld
        self.onEnd = onEnd
    }

    /// Says that the launch counts, also if this process ends now.
    public func confirm() {
        guard !isConfirmed else { return }
        isConfirmed = true
        attempt?.confirm()
    }

    /// Cancels the launch without calling back; its process, if there is one, is killed.
    public func cancel() {
        launcher?.cancel(self)
    }

    /// Keeps the passed descriptors open until the launch is over: the request may have to be sent again.
    fileprivate func holdDescriptors() throws(SpawnError) {
        for index in request.descriptors.indices where request.descriptors[index].owner == nil {
            let passed = request.descriptors[index]
            do throws(LinuxError) {
                let held = try OwnedDescriptor(duplicating: passed.source)
                request.descriptors[index].source = held.number
                descriptors.append(held)
            } catch {
                throw SpawnError(stage: .descriptor, errno: error.errno, operation: passed.operation)
            }
        }
    }

    /// Whether an overdue launch is to be given up; it gets more time if nothing but a CPU is missing.
    fileprivate func isOver(at now: Instant) -> Bool {
        deadline.isOver(at: now, awaitsCPU: attempt?.awaitsCPU(of: process) == true)
    }

    /// Lets the process execute the program, after the owner of the launch has seen it.
    fileprivate func release() {
        guard let attempt else { return }
        if let onHeld, let process = attempt.held {
            onHeld(process)
            // It has waited for this loop, which may have been late.
            deadline.restart(at: .now())
        }
        attempt.release()
    }

    /// Reports the result, if there is one; nothing is reported after that.
    fileprivate func end(_ result: Result<SpawnedProcess, SpawnError>?) {
        let report = onEnd
        onHeld = nil
        onEnd = nil
        if let result { report?(result) }
    }

    fileprivate func stop() {
        source?.cancel()
        source = nil
        call?.cancel()
        call = nil
    }
}
