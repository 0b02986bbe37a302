// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogCapture
package import WatchdogLinux
package import WatchdogRecording
package import WatchdogReport
package import WatchdogReportStore

/// What all launches of one watchdogd share: the loop, the threads beside it, and directories.
///
/// Isolation: the loop's thread.
package final class Host {
    /// Messages from other threads to the loop.
    package enum Message: Sendable {
        /// A capture has ended.
        ///
        /// - Parameter number: the capture's, as ``captureBegan(within:)`` returned it.
        case captured(app: Int, incident: IncidentKey, CaptureOutcome, TreeSnapshot, number: Int)
        case reported(app: Int, incident: IncidentKey, ReportOutcome)
        /// A report that lacked names was rewritten, or nothing is left to try.
        case named(NamedReport)
        /// The first sample of a hanging app is complete, and nothing is stopped anymore.
        case looked(number: Int)
    }

    package let loop: EventLoop
    package let system: any LaunchSystem
    private let launcher: Launcher
    /// The kernel's events, with which starts of programs are recorded; nil if none is.
    package let perfEvents: PerfEvents?
    package let facts: HostFacts
    package let mailbox: Mailbox<Message>
    /// Calls that other parties can delay.
    package let work: BlockingWork
    /// Reads that may never return; nil if there is no examiner.
    let examiner: Examiner?
    private let examinerSource: ExaminerSource?
    /// Removes messages with descriptors; nil only in tests of launches.
    package let closer: Closer?
    let sharedSources: SharedSources
    package let pacer: Pacer
    let captureThread: CaptureThread
    /// What reads the memory of apps, also their arguments and environment.
    package let copiers: Copiers
    /// What reports lack because reads have not returned.
    package let gaps: ReportGaps
    package let reportWriter: ReportWriter
    package let log: EventLog
    let runtimeDirectory: RuntimeDirectory
    package let cgroupParent: CgroupParent?
    /// Why there are no cgroups.
    package let cgroupRefusal: String?
    /// The user id that watchdogd runs as.
    let userID = geteuid()
    /// The scheduling of the loop; requested after the other threads exist, so that they do not inherit it.
    package private(set) var scheduling: SchedulingGrant?

    /// Called when the tries to add names to a report are over.
    package var onNamed: (NamedReport) -> Void = { _ in }

    private var launches: [Int: LaunchShell] = [:]
    /// Which launches may begin at once.
    package var launchTurn: LaunchTurn
    /// Keys of launches by the ids of their main processes.
    private var owners: [Int32: Int] = [:]
    private var nextKey = 1
    private var sources: [EventSource] = []
    /// Cgroups of killed commands, until they are empty.
    var spentCgroups: [Cgroup] = []
    private let idleMemory: IdleMemory
    private var captures = CaptureCount()
    /// A capture that takes longer is stuck.
    private static let longestCapture = Duration.seconds(1)
    /// A capture that takes longer while others wait is replaced: they must not miss their own moment.
    private static let longestTurn = Duration.milliseconds(100)
    private var turnCheck: Int?
    /// The limit of captures waiting for the capture thread; apps that hang on one database do so together.
    private static let captureLimit = 4_096
    /// How many captures run side by side while others wait: more would keep the loop from a CPU.
    private static let capturesAtOnce = 2
    private var hasChildNews = false
    private var hasToldOfJournal = false
    private var hasReportedMoves = false
    private var isReaping = false
    private var machineReading: (at: Instant, value: MachineCPU?)?

    package private(set) lazy var hooks = IncidentHooks(self)

    /// Where the state is saved for the next watchdogd; nil if there will be none.
    package let survival: Survival?

    package init(
        loop: EventLoop, store: ReportStore, launcher: LauncherProcess? = nil, survival: Survival? = nil,
        log: EventLog = .standardError, system: any LaunchSystem = LinuxSystem(),
        sources: ProcessSources = ProcessSources(), cgroupName: String? = nil, limitsRepeats: Bool = false,
        printsReports: Bool = false, recordsStartups: Bool = false
    ) throws {
        self.loop = loop
        idleMemory = IdleMemory(loop)
        launchTurn = LaunchTurn(loop)
        self.system = system
        // First, because the kernel takes its time.
        perfEvents = recordsStartups ? try PerfEvents() : nil
        self.survival = survival
        self.log = log
        // Real-time like the loop, so that a launch does not wait for a CPU on a busy machine.
        self.launcher = try Launcher(launcher, precedence: true, on: loop)
        facts = .current()
        mailbox = try Mailbox()
        work = try BlockingWork(on: loop)
        examinerSource = sources.examiner
        examiner = try sources.examiner.map { try Examiner($0, on: loop) }
        closer = try sources.closer.map { try Closer($0, on: loop) }
        sharedSources = try SharedSources(loop)
        pacer = try Pacer(loop)
        // Enough for the stacks of a hundred threads without a page fault; beyond that, copying takes 0.2 ms more per
        // megabyte. Real-time like the loop: the capture ends with SIGKILL, which must not wait for a CPU either.
        copiers = Copiers(sources.examiner)
        captureThread = try CaptureThread(
            CaptureThreadConfiguration(
                queueLimit: Self.captureLimit, residentBytes: 512 << 10,
                scheduling: .realTime(priority: SchedulingGrant.priority),
                width: min(Self.capturesAtOnce, facts.processorCount)), copiers: copiers)
        gaps = ReportGaps(captureThread, examiner, log)
        reportWriter = ReportWriter(
            store: store, symbolicator: Symbolicator(), mailbox: mailbox, limitsRepeats: limitsRepeats,
            prints: printsReports)
        runtimeDirectory =
            try survival?.directory ?? RuntimeDirectory.create(orIn: printsReports ? nil : store.directory)
        do {
            cgroupParent = try CgroupParent.create(name: cgroupName ?? survival?.name)
            cgroupRefusal = nil
        } catch {
            cgroupParent = nil
            cgroupRefusal = "\(error)"
        }
    }

    /// Connects the host to its loop; call it once, on the main thread.
    package func start() throws {
        closer?.onProblem = { [unowned self] in say("\($0); messages with descriptors stay unread") }
        examiner?.startSource = { [unowned self] in examinerSource?.restart(by: launcher, then: $0) }
        sources += try loop.onSignal([SIGCHLD], priority: .important) { [unowned self] _ in childrenChanged() }
        sources.append(try loop.receive(from: mailbox) { [unowned self] in received($0) })
        requestScheduling()
        try idleMemory.start()
    }

    /// Notes a launch: the daemon's startup continues, unless it is already over.
    package func launched() { idleMemory.changed() }

    /// Removes what was created in the file system, and gives up all sockets that the closer keeps.
    ///
    /// - Parameter leaves: whether the apps keep running for the next watchdogd; then everything stays.
    package func stop(leaving leaves: Bool = false) {
        hooks.stop()
        closer?.end()
        guard !leaves else { return }
        survival?.forgetApps()
        runtimeDirectory.remove()
        // Killed processes are gone within a millisecond or two.
        for _ in 0..<50 {
            removeSpentCgroups()
            if spentCgroups.isEmpty { break }
            usleep(1_000)
        }
        try? cgroupParent?.remove()
        // Last, when nobody is waiting: remove what an earlier watchdogd left when it was killed.
        cgroupParent?.removeLeftovers()
    }

    /// Releases and requests the loop's scheduling, around the execution of another program.
    package func releaseScheduling() { scheduling?.release() }
    package func requestScheduling() { scheduling = SchedulingGrant.request() }

    /// Whether a launch, a capture, a hook or the removal of a message is in progress or a report is being written.
    package var isBusy: Bool {
        closer?.isBusy == true || !launcher.isIdle || !captures.isEmpty || !hooks.isIdle
            || launches.values.contains { $0.hasPendingReports }
    }

    /// What the machine's CPUs have done; read again only if the last reading is too old.
    ///
    /// This reading takes longer than everything else a ping needs.
    func machineCPU(notOlderThan age: Duration) -> MachineCPU? {
        let now = loop.now
        if let reading = machineReading, now - reading.at <= age { return reading.value }
        let value = MachineCPU.read()
        machineReading = (now, value)
        return value
    }

    // MARK: - Apps

    /// A key that identifies a launch to other threads.
    package func makeKey() -> Int {
        defer { nextKey += 1 }
        return nextKey
    }

    /// Registers a launch.
    package func add(_ launch: LaunchShell, _ key: Int) { launches[key] = launch }

    package func remove(_ key: Int) {
        launches[key] = nil
        idleMemory.changed()
    }

    /// Starts a program; see ``Launcher/launch(_:onHeld:onEnd:)``.
    package func launch(
        _ request: SpawnRequest, onHeld: ((HeldProcess) -> Void)? = nil,
        onEnd: @escaping (Result<SpawnedProcess, SpawnError>) -> Void
    ) throws(SpawnError) -> PendingLaunch {
        try system.launch(request, by: launcher, onHeld: onHeld, onEnd: onEnd)
    }

    /// Creates a timer, not yet armed.
    package func timer(
        priority: EventLoop.Priority = .normal, handler: @escaping (Timer.Firing) -> Void
    ) throws(LinuxError) -> Timer {
        try system.timer(on: loop, priority: priority, handler: handler)
    }

    /// Calls the handler whenever the descriptor is readable or at its end.
    func watch(
        _ descriptor: OwnedDescriptor, priority: EventLoop.Priority = .normal, handler: @escaping () -> Void
    ) throws(LinuxError) -> IOSource {
        try system.watch(descriptor, on: loop, priority: priority, handler: handler)
    }

    func removeSpentCgroups() { spentCgroups.removeAll { (try? $0.remove()) != nil } }

    /// A cgroup for an app, or why there is none.
    func makeCgroup(for name: String) -> (cgroup: Cgroup?, refusal: String?) {
        guard let cgroupParent else { return (nil, cgroupRefusal) }
        removeSpentCgroups()
        do {
            return (try system.createCgroup(name, in: cgroupParent), nil)
        } catch {
            return (nil, "\(error)")
        }
    }

    /// Reports once that output cannot go to the journal.
    package func journalRefused(_ error: LinuxError, _ subject: EventSubject) {
        guard !hasToldOfJournal else { return }
        hasToldOfJournal = true
        let text = "output goes to standard error instead of the journal: \(error)"
        log.tell(JournalEntry(.outputRefused, text, about: subject), line: text)
    }

    /// Reports once that the kernel cannot create processes in their cgroups.
    func launchesAreSlow() {
        guard survival != nil, !hasReportedMoves else { return }
        hasReportedMoves = true
        say(
            "clone3(2) is refused here, for example by RestrictNamespaces= or a container's filter: "
                + "each launch takes a few milliseconds longer")
    }

    /// Reports that an app is not in its cgroup: processes that leave its session may be lost.
    func cgroupRefused(_ app: String, _ error: Errno) {
        if survival != nil { say("\(app) runs outside of its cgroup: \(error)") }
    }

    private func say(_ line: String) { log.tell(nil, line: line) }

    private func received(_ message: Message) {
        switch message {
        case .captured(let app, let incident, let outcome, let others, let number):
            captureEnded(number)
            launches[app]?.incidents.captured(incident, outcome, others)
        case .looked(let number): captureEnded(number)
        case .reported(let app, let incident, let outcome):
            launches[app]?.incidents.reported(incident, outcome)
        case .named(let report):
            reportWriter.namesWereTold()
            report.tell(log)
            onNamed(report)
        }
    }

    // MARK: - Children

    /// Counts a capture, because a wait in the meantime would consume the stops that the capture thread waits for.
    ///
    /// - Parameter budget: the capture counts at most this long, so that a stuck one does not delay the ends of all
    ///   apps.
    /// - Returns: its number, for ``captureEnded(_:)``.
    func captureBegan(within budget: Duration) -> Int {
        _ = pacer.schedule(after: budget) { [weak self] in self?.expireCaptures() }
        return captures.begin(until: loop.now + budget)
    }

    func captureEnded(_ number: Int) {
        captures.end(number)
        capturesChanged()
    }

    /// Makes sure that captures that wait get their turn, whatever makes the running one late.
    func captureWaits() {
        guard turnCheck == nil, captureThread.waitingCount > 0 else { return }
        turnCheck = pacer.schedule(after: Self.longestTurn) { [unowned self] in
            turnCheck = nil
            captureThread.replaceStuckWorker(after: Self.longestTurn, at: .now())
            captureWaits()
        }
    }

    private func expireCaptures() {
        if captures.expire(at: loop.now) { captureThread.replaceStuckWorker(after: Self.longestCapture, at: loop.now) }
        capturesChanged()
    }

    private func capturesChanged() {
        if captures.isEmpty, hasChildNews { childrenChanged() }
    }

    /// Records which launch a child belongs to; nil if to none anymore.
    func setOwner(of child: Int32, to key: Int?) { owners[child] = key }

    /// Handles SIGCHLD: some child changed.
    func childrenChanged() {
        hasChildNews = !captures.isEmpty
        // The owner of an ended child examines the rest of its tree, and calls this again.
        guard !hasChildNews, !isReaping else { return }
        isReaping = true
        defer { isReaping = false }
        var last: Int32 = 0
        while let child = system.changedChild() {
            // Its owner did not handle the change, and the kernel keeps reporting this child first: reap the orphans
            // behind it.
            guard child != last else {
                system.reapOrphans(
                    except: launcher.children.union(launches.values.flatMap(\.children)).union(hooks.children))
                return
            }
            last = child
            if let owner = owners[child].flatMap({ launches[$0] })
                ?? launches.values.first(where: { $0.children.contains(child) })
            {
                owner.childrenChanged()
            } else if hooks.children.contains(child) {
                hooks.reap()
            } else if !launcher.children.contains(child) {
                system.takeChange(of: child)
            }
        }
    }
}

/// The captures that are stopping processes now, each until it ends or exceeds its budget.
///
/// A stuck capture may never end; its thread is replaced, and nobody waits for it anymore.
struct CaptureCount {
    private var deadlines: [Int: Instant] = [:]
    private var lastNumber = 0

    /// Whether no capture is in progress.
    var isEmpty: Bool { deadlines.isEmpty }

    /// Counts a capture until ``end(_:)`` or `deadline`; returns its number.
    mutating func begin(until deadline: Instant) -> Int {
        lastNumber += 1
        deadlines[lastNumber] = deadline
        return lastNumber
    }

    mutating func end(_ number: Int) { deadlines[number] = nil }

    /// Removes the captures that have exceeded their budgets; returns whether there were any.
    mutating func expire(at now: Instant) -> Bool {
        let count = deadlines.count
        deadlines = deadlines.filter { $0.value > now }
        return deadlines.count < count
    }
}

/// Lets one launch begin in each turn of the loop, because many would make it long.
///
/// Isolation: the loop's thread.
package struct LaunchTurn {
    private let loop: EventLoop
    private var last: UInt64?

    init(_ loop: EventLoop) { self.loop = loop }

    /// Whether no launch has begun in this turn.
    package var isFree: Bool { loop.iteration != last }

    /// Whether a launch may begin: true once in a turn.
    package mutating func take() -> Bool {
        guard isFree else { return false }
        last = loop.iteration
        return true
    }
}
