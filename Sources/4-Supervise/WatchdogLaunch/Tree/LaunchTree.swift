// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase
package import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// The processes of one launch: starts the first, follows the main process, reaps it, and stops, resumes and kills them
/// all.
///
/// Isolation: the loop's thread.
package final class LaunchTree {
    private let host: Host
    private let key: Int
    private let tenant: Tenant
    private let launchID: IncidentID
    private let terminal: ForegroundTerminal?
    private let emit: (LaunchEvent) -> Void
    /// Reads the app's last messages before its end is handled.
    private let readLastMessages: () -> Void
    private lazy var freezer = Freezer(host, of: tenant, emit: emit)

    /// The cgroup made for the launch; its processes may still be outside it.
    package let cgroup: Cgroup?
    /// Why there is no cgroup.
    package let cgroupRefusal: String?
    /// Whether someone else owns the processes: then none is signaled, stopped or ended, and the cgroup stays.
    private let isObserved: Bool
    package private(set) var main: MainProcess?
    /// Says hello and answers pings instead of the main process.
    @Boxed private var answering: MainProcess?
    private let knownSenders = KnownSenders()
    private var judgedProcess = JudgedProcess()
    /// What the main process had used by the time it was reaped.
    @Boxed package private(set) var exitUsage: ResourceUsage?
    private var pending: PendingLaunch?
    private var containment: Containment?
    /// Whether the end of the main process has been handled.
    private(set) var isReaped = false
    /// Whether watchdogd was asked to stop, and stops when the program has.
    private var isStopRequested = false
    /// Whether a fault has stopped the main process.
    private var isPaused = false
    private lazy var end = TreeEnd(host)
    /// The main process as the previous watchdogd saved it.
    @Boxed private var formerProcess: LaunchState.Process?

    /// Creates the tree without a process.
    ///
    /// - Parameters:
    ///   - key: identifies the launch to the host.
    ///   - cgroup: the cgroup for the processes, or why there is none.
    ///   - launchID: the launch, which is in the environment of the app's processes.
    ///   - isObserved: whether someone else owns the processes.
    ///   - terminal: lent to the program, if it gets one.
    init(
        _ host: Host, key: Int, of tenant: Tenant, cgroup: (cgroup: Cgroup?, refusal: String?), launchID: IncidentID,
        isObserved: Bool, terminal: ForegroundTerminal?, readLastMessages: @escaping () -> Void,
        emit: @escaping (LaunchEvent) -> Void
    ) {
        self.host = host
        self.key = key
        self.tenant = tenant
        self.launchID = launchID
        self.isObserved = isObserved
        self.terminal = terminal
        self.readLastMessages = readLastMessages
        self.emit = emit
        (self.cgroup, cgroupRefusal) = cgroup
    }

    /// The main process's id; nil before the launch.
    package var pid: Int32? { main?.pid ?? formerProcess?.pid }

    /// The process whose main thread is judged: the one that answers on the channel, or else the main process.
    ///
    /// A shell or a wrapper that started the app does not answer itself.
    package var judged: MainProcess? {
        guard let answering, !answering.process.hasExited else { return main }
        return answering
    }

    /// When the app was launched; nil before the launch.
    package var launched: LaunchMoment? {
        main?.launched ?? formerProcess.map { LaunchMoment(instant: $0.launchedAt, time: $0.launchTime) }
    }

    /// Whether no process of the app remains, as far as can be determined.
    package var isGone: Bool { (main?.process.hasExited ?? true) && (containment?.isEmpty ?? true) }

    /// Whether a cgroup holds the processes.
    var isInCgroup: Bool {
        if case .cgroup = containment { true } else { false }
    }

    /// The directory of the cgroup that holds the processes; nil if none does.
    package var containingCgroup: String? { isInCgroup ? cgroup?.path : nil }

    /// Whether watchdogd has stopped the processes.
    var isStoppedByUs: Bool { freezer.isOn }

    /// CPU time of all processes; nil if it cannot be read.
    package var cpuTime: Duration? { containment?.cpuTime }

    /// The ids of processes that survived SIGKILL.
    var survivors: [Int] { containment?.survivors().map { Int($0.pid) } ?? [] }

    /// Judges the senders of messages; nil while the app's first process is being started.
    var senders: SenderJudge? { containment.map { SenderJudge(knownSenders, lookUp: $0.standing(ofSender:)) } }

    /// The present user of the main process, which may have changed it since its launch; nil if it is gone.
    var mainUser: UInt32? {
        guard let main, let user = ProcessStatus.read(main.pid)?.user, main.process.isPresent else { return nil }
        return user
    }

    package func processes() -> [Int32] { containment?.processes() ?? [] }

    /// The app's processes, in a form that another thread may read.
    var members: TreeMembers { containment?.members ?? .listed([]) }

    package func signal(_ signal: Int32) {
        guard !isObserved else { return }
        guard !PassedSignals.stops.contains(signal) else { return requestStop(by: signal) }
        if signal == SIGCONT { isStopRequested = false }
        // If the process is already gone, its exit is about to be handled.
        try? main?.process.send(signal)
    }

    /// Stops the main process, as anybody else could, until SIGCONT; watchdogd keeps running, also on a terminal.
    package func pause() {
        isPaused = !isObserved
        if isPaused { try? main?.process.send(SIGSTOP) }
    }

    /// Stops watching, and removes the cgroup if it is empty.
    package func stop() {
        pending?.cancel()
        end.cancel()
        freezer.cancel()
        main?.source?.cancel()
        if let main { host.setOwner(of: main.pid, to: nil) }
        guard !isObserved else { return }
        // Fails with EBUSY while it holds a process that cannot be killed; the next watchdogd then removes it.
        try? cgroup?.remove()
    }

    // MARK: - Start

    /// Starts the first process; reports `spawned` or ``LaunchEvent/spawnFailed(_:)``.
    ///
    /// - Parameter onHeld: what to do with the process before it executes the program; nil not to hold it.
    package func spawn(_ request: SpawnRequest, onHeld: ((HeldProcess) -> Void)?) {
        do {
            var request = request
            request.session = terminal.map { .newProcessGroup(foregroundOf: $0.descriptor) } ?? .newSession
            request.cgroup = try cgroup.map { try host.system.openDirectory(of: $0) }
            // Taken before the start: the program may print before the parent knows that it is running.
            let moment = LaunchMoment.now()
            let isBornInCgroup = request.cgroup != nil
            pending = try host.launch(request, onHeld: onHeld) { [unowned self] result in
                pending = nil
                switch result {
                case .success(let spawned): started(spawned, moment, isBornInCgroup: isBornInCgroup)
                case .failure(let error): failed(error)
                }
            }
        } catch {
            failed(error)
        }
    }

    /// Says that the state that knows of the process is saved: it waits for that if it is held.
    func confirm() { pending?.confirm() }

    private func failed(_ error: any Error) {
        end.cancel()
        terminal?.reclaim()
        emit(.spawnFailed(error))
    }

    private func started(_ spawned: SpawnedProcess, _ moment: LaunchMoment, isBornInCgroup: Bool) {
        host.launched()
        contain(spawned, isBornInCgroup: isBornInCgroup)
        do throws(LinuxError) {
            try supervise(spawned.process, startTime: spawned.startTime, launched: moment)
        } catch {
            return abandon(spawned.process, error)
        }
        emit(.machine(.spawned(pid: spawned.pid)))
    }

    /// Kills a process that cannot be supervised, and reports the failure once none of its processes remain.
    private func abandon(_ process: Pidfd, _ error: any Error) {
        end.begin(.kill, { process }, containment) { [unowned self] in
            terminal?.reclaim()
            emit(.spawnFailed(error))
        }
    }

    private func contain(_ spawned: SpawnedProcess, isBornInCgroup: Bool) {
        if let cgroup, isBornInCgroup, spawned.cgroupRefusal == nil {
            containment = .cgroup(cgroup)
            if spawned.hasMoved { host.launchesAreSlow() }
        } else {
            if let refusal = spawned.cgroupRefusal { host.cgroupRefused(tenant.app, refusal) }
            containment = .processTree(
                ProcessTree(spawned.pid, spawned.startTime, of: launchID, tenant, host))
        }
    }

    /// Makes a process the main process, whose end is the app's end from now on.
    private func supervise(_ process: Pidfd, startTime: UInt64?, launched: LaunchMoment) throws(LinuxError) {
        become(
            MainProcess(process: process, startTime: startTime, source: try watch(process), launched: launched))
    }

    private func watch(_ process: Pidfd) throws(LinuxError) -> SharedSource.Member {
        try host.sharedSources.ends.add(process.descriptor) { [unowned self] in reapMain() }
    }

    private func become(_ process: MainProcess) {
        if let main {
            main.source?.cancel()
            host.setOwner(of: main.pid, to: nil)
        }
        main = process
        knownSenders.setMain(process.process, launchedAt: process.launched.instant)
        answering = nil
        judgedProcess = JudgedProcess()
        isReaped = false
        host.setOwner(of: process.pid, to: key)
    }

    /// Makes `pid` the main process, as the app requested with `MAINPID=`.
    ///
    /// - Returns: false if it is not a process of the app.
    package func adopt(_ pid: Int32) -> Bool {
        // Open the pidfd first, so that the checks are about the process it holds.
        guard let process = try? host.system.openProcess(pid), processes().contains(pid), !process.hasExited else {
            return false
        }
        let moment = main?.launched ?? .now()
        return (try? supervise(process, startTime: ProcessStat.read(pid)?.startTime, launched: moment)) != nil
    }

    /// Judges the sender of a message from now on, if it answers in place of the main process.
    ///
    /// - Parameter isAnswer: whether the message says hello or answers a ping.
    /// - Returns: whether it does, and is a process of the app.
    func judge(senderOf message: SocketMessage, _ isAnswer: () -> Bool) -> Bool {
        guard let main, let judged,
            judgedProcess.passes(to: message.senderProcess, main: main.pid, judged: judged.pid, isAnswer),
            let process = message.sender ?? (try? host.system.openProcess(message.senderProcess)),
            senders?.standing(ofSender: message) == .member, !process.hasExited,
            let stat = ProcessStat.read(process.pid)
        else { return false }
        answering = MainProcess(
            process: process, startTime: stat.startTime, source: nil, launched: main.launched)
        return true
    }

    // MARK: - Resumption

    /// Resumes the processes of a launch of the previous watchdogd.
    ///
    /// - Parameters:
    ///   - former: the main process as it was saved; nil if none had been started.
    package func resume(_ former: LaunchState.Process?) {
        formerProcess = former
        if let cgroup {
            containment = .cgroup(cgroup)
        } else if let former {
            containment = .processTree(ProcessTree(former.pid, former.startTime, of: launchID, tenant, host))
        }
    }

    /// Makes a process that is already running the main process.
    package func hold(_ process: Pidfd, _ saved: LaunchState.Process) {
        become(
            MainProcess(
                process: process, startTime: saved.startTime, source: try? watch(process),
                launched: LaunchMoment(instant: saved.launchedAt, time: saved.launchTime)))
    }

    /// What the next watchdogd needs to know of the main process; nil before the launch.
    ///
    /// - Parameter thread: the thread that runs the main loop.
    package func saved(thread: Int32?) -> LaunchState.Process? {
        main.map {
            LaunchState.Process(
                pid: $0.pid, startTime: $0.startTime, launchedAt: $0.launched.instant, launchTime: $0.launched.time,
                thread: thread)
        }
    }

    /// The cgroup to save; until there is a process, it is unknown whether the kernel will place it there.
    var savedCgroup: String? { isInCgroup || containment == nil ? cgroup?.path : nil }

    // MARK: - End

    /// Handles a change of some child: reports stops, continuations and the end of the main process.
    func childrenChanged() {
        followJobControl()
        reapMain()
    }

    /// Reports the end of the main process, once.
    func reapMain() {
        guard !isReaped, let ended = main?.pid, main?.process.hasExited == true else { return }
        readLastMessages()
        // The last message may have been MAINPID=, which makes another process the main process.
        guard let main, main.pid == ended else { return host.childrenChanged() }
        main.source?.cancel()
        var status = ExitStatus.unknown
        do {
            // A debugger delays the wait status of its tracee: the pidfd reports the exit, but wait does not return it.
            // SIGCHLD comes when the debugger lets go: ptrace(2).
            guard let exit = try main.process.waitExit() else { return }
            exitUsage = exit.usage
            status = exit.status
        } catch {}
        isReaped = true
        terminal?.reclaim()
        emit(.exited(status))
    }

    /// Ends the observation of a process that someone else owns, as if it had exited.
    package func letGo() {
        guard isObserved, !isReaped else { return }
        main?.source?.cancel()
        isReaped = true
        emit(.exited(.unknown))
    }

    /// Asks what the main process left behind to end; reports `treeEmptied`.
    package func terminate() {
        // Frozen processes would handle SIGTERM only when they run again.
        if freezer.isOn { thaw() }
        beginEnd(.ask)
    }

    /// Kills all processes; reports `treeEmptied`.
    package func kill() { beginEnd(.kill) }

    private func beginEnd(_ way: TreeEnd.Way) {
        // What remains is its owner's business.
        guard !isObserved else { return emit(.machine(.treeEmptied)) }
        end.begin(way, { [unowned self] in main?.process }, containment) { [unowned self] in
            emit(.machine(.treeEmptied))
        }
    }

    // MARK: - Stop and resume

    func freeze() {
        guard let containment, !isObserved else { return }
        let process = main.flatMap { main in
            main.startTime.map { ExaminedProcess(id: main.pid, startTime: $0, cgroup: cgroup?.path) }
        }
        freezer.freeze(containment, process)
    }

    func thaw() { freezer.thaw(containment) }

    private func followJobControl() {
        guard let main, let change = try? main.process.waitStopOrContinue() else { return }
        switch change {
        case .stopped:
            emit(.machine(.stopped))
            let followed = freezer.isOn || isPaused ? nil : terminal
            if let followed { stopOurselves(with: followed) } else if isStopRequested { stopOurselves() }
        case .continued:
            isPaused = false
            emit(.machine(.continued))
        }
    }

    /// Passes a request to stop on to the program; watchdogd stops when the program has.
    private func requestStop(by signal: Int32) {
        guard let main else { return }
        isStopRequested = true
        // A program in its own session is an orphaned process group: there, the default action of these signals does
        // nothing, but SIGSTOP does: setpgid(2), signal(7).
        let isOrphaned = terminal == nil
        let isIgnored = isOrphaned && ProcessStat.read(main.pid)?.usesDefaultAction(of: signal) == true
        try? main.process.send(isIgnored ? SIGSTOP : signal)
        // A suspended program will not report that it stops.
        if freezer.isOn { stopOurselves() }
    }

    /// Stops watchdogd until SIGCONT, which it then passes on; the first process of a pid namespace does not stop.
    private func stopOurselves() {
        isStopRequested = false
        Glibc.kill(getpid(), SIGSTOP)
    }

    /// Stops watchdogd together with a program that stops in the foreground.
    ///
    /// Both belong to one job: the shell takes over, and continues the job on `fg` or `bg`.
    private func stopOurselves(with terminal: ForegroundTerminal) {
        guard let main, !terminal.isOurs else { return }
        isStopRequested = false
        terminal.reclaim()
        Glibc.kill(getpid(), SIGSTOP)
        if terminal.isOurs { terminal.give(to: main.pid) }
        try? main.process.sendToGroup(SIGCONT)
    }
}

extension ProcessTree {
    /// The processes of an app, whose environments copiers read.
    fileprivate convenience init(
        _ root: Int32, _ startTime: UInt64?, of launchID: IncidentID, _ tenant: Tenant, _ host: Host
    ) {
        let copying = host.copiers.copying(for: tenant)
        self.init(
            root: root, startTime: startTime ?? 0, marker: LaunchConfiguration.marker(of: launchID), by: copying)
    }
}
