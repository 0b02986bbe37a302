// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// What all apps of one watchdogd share: the loop, the threads beside it, and the places in the file system.
///
/// Isolation: the loop's thread.
final class Host {
    /// What other threads tell the loop.
    enum Message: Sendable {
        case captured(app: Int, incident: Int, CaptureOutcome)
        case reported(app: Int, incident: Int, ReportOutcome)
        /// A first look at a hanging app is over: nothing is stopped by it any more.
        case looked
        /// The end of something that was read beside the loop.
        case daemon(DaemonMessage)
    }

    let loop: EventLoop
    let facts: HostFacts
    let mailbox: Mailbox<Message>
    let captureThread: CaptureThread
    let reportWriter: ReportWriter
    let log: EventLog
    let runtimeDirectory: RuntimeDirectory
    let cgroupParent: CgroupParent?
    /// Why there are no cgroups.
    let cgroupRefusal: String?
    /// The user id that watchdogd runs as.
    let userID = geteuid()
    /// How the loop is scheduled; asked for after the other threads exist, so that they do not inherit it.
    private(set) var scheduling: SchedulingGrant?

    /// Called with what is meant for the daemon as a whole.
    var onDaemonMessage: (DaemonMessage) -> Void = { _ in }

    private var kernels: [Int: LinuxKernel] = [:]
    /// By the process ids of their main processes.
    private var owners: [Int32: LinuxKernel] = [:]
    private var nextKey = 1
    private var sources: [EventSource] = []
    /// Those in which commands were killed for which nobody waits, until they are empty.
    var spentCgroups: [Cgroup] = []
    private var settling: Timer?
    /// After so long without a launch all apps are launched, and what that took of memory can be given back.
    private static let settlingTime = Duration.seconds(3)
    private var runningCaptures = 0
    private var runningWatches = 0
    private static let watchLimit = 8
    private var hasChildNews = false
    private var hasToldOfJournal = false
    private var hasToldOfMoves = false
    private var isReaping = false
    private var machineReading: (at: Instant, value: MachineCPU?)?

    /// Where the state is kept for the next watchdogd; nil where there will be none.
    let survival: Survival?

    init(loop: EventLoop, store: ReportStore, survival: Survival? = nil, log: EventLog = .standardError) throws {
        self.loop = loop
        self.survival = survival
        self.log = log
        facts = .current()
        mailbox = try Mailbox(capacity: 1_024)
        // Enough for the stacks of a hundred threads without a page fault; beyond, copying costs 0.2 ms more per megabyte.
        // Real-time as the loop is: SIGKILL comes at the end of a capture, so a capture must not wait for a CPU either.
        captureThread = try CaptureThread(
            CaptureThreadConfiguration(residentBytes: 512 << 10, scheduling: .realTime(priority: 1)))
        reportWriter = ReportWriter(store: store, symbolicator: Symbolicator(), mailbox: mailbox)
        runtimeDirectory = try survival?.directory ?? RuntimeDirectory.create()
        do {
            cgroupParent = try CgroupParent.create(name: survival?.name)
            cgroupRefusal = nil
        } catch {
            cgroupParent = nil
            cgroupRefusal = "\(error)"
        }
    }

    /// Connects the host to its loop; to be called once, on the main thread.
    func start() throws {
        sources += try loop.onSignal([SIGCHLD], priority: .important) { [unowned self] _ in childrenChanged() }
        sources.append(try loop.receive(from: mailbox) { [unowned self] in received($0) })
        requestScheduling()
        settling = try loop.timer(priority: .last) { _ in ProcessMemory.releaseProgram() }
        settling?.arm(at: loop.now + Self.settlingTime)
    }

    /// An app was launched: the start is not over yet, if it was not before.
    func launched() {
        if settling?.due != nil { settling?.arm(at: loop.now + Self.settlingTime) }
    }

    /// Takes away what was put into the file system.
    ///
    /// - Parameter leaves: whether the apps run on for the next watchdogd.
    func stop(leaving leaves: Bool = false) {
        guard !leaves else { return }
        survival?.forgetApps()
        runtimeDirectory.remove()
        // What was killed just now is gone within a millisecond or two.
        for _ in 0..<50 {
            spentCgroups.removeAll { (try? $0.remove()) != nil }
            if spentCgroups.isEmpty { break }
            usleep(1_000)
        }
        try? cgroupParent?.remove()
        // At the end, where nobody waits for it: what a watchdogd that was killed has left behind.
        cgroupParent?.removeLeftovers()
    }

    /// Gives up or asks anew for what the loop was granted, around the execution of another program.
    func releaseScheduling() { scheduling?.release() }
    func requestScheduling() { scheduling = SchedulingGrant.request() }

    /// Whether a capture is under way, or a report is being written.
    var isBusy: Bool { runningCaptures > 0 || kernels.values.contains { !$0.pendingReports.isEmpty } }

    /// What the machine's CPUs have done, read anew only if the last reading is too old: the kernel takes longer to tell
    /// it than for everything else that a ping needs.
    func machineCPU(notOlderThan age: Duration) -> MachineCPU? {
        let now = loop.now
        if let reading = machineReading, now - reading.at <= age { return reading.value }
        let value = MachineCPU.read()
        machineReading = (now, value)
        return value
    }

    // MARK: - Apps

    /// Lets an app take part; returns the key by which other threads name it.
    func add(_ kernel: LinuxKernel) -> Int {
        defer { nextKey += 1 }
        kernels[nextKey] = kernel
        return nextKey
    }

    func remove(_ key: Int) {
        kernels[key] = nil
    }

    /// A cgroup for an app, or the reason why there is none.
    func makeCgroup(for name: String) -> (cgroup: Cgroup?, refusal: String?) {
        guard let cgroupParent else { return (nil, cgroupRefusal) }
        spentCgroups.removeAll { (try? $0.remove()) != nil }
        do {
            return (try cgroupParent.create(app: name), nil)
        } catch {
            return (nil, "\(error)")
        }
    }

    /// Tells once that output which was to go to the journal does not.
    func journalRefused(_ error: LinuxError, _ subject: EventSubject) {
        guard !hasToldOfJournal else { return }
        hasToldOfJournal = true
        let text = "output goes to standard error instead of the journal: \(error)"
        log.tell(JournalEntry(.outputRefused, text, about: subject), line: text)
    }

    /// Tells once that the kernel does not let apps be born in their cgroups.
    func launchesAreSlow() {
        guard survival != nil, !hasToldOfMoves else { return }
        hasToldOfMoves = true
        say(
            "clone3(2) is refused here, as RestrictNamespaces= and filters of containers do: "
                + "each launch takes some milliseconds longer")
    }

    /// Tells that an app is not in its cgroup: what leaves its session may not be found again.
    func cgroupRefused(_ app: String, _ error: Errno) {
        if survival != nil { say("\(app) runs outside of its cgroup: \(error)") }
    }

    private func say(_ line: String) { log.tell(nil, line: line) }

    private func received(_ message: Message) {
        switch message {
        case .captured(let app, let incident, let outcome):
            captureEnded()
            kernels[app]?.captured(incident, outcome)
        case .looked: captureEnded()
        case .reported(let app, let incident, let outcome):
            kernels[app]?.reported(incident, outcome)
        case .daemon(let message):
            onDaemonMessage(message)
        }
    }

    // MARK: - Looks at hanging apps

    /// Counts those that are looked at; each look costs what a thread costs.
    ///
    /// - Returns: false when there are enough.
    func watchBegan() -> Bool {
        guard runningWatches < Self.watchLimit else { return false }
        runningWatches += 1
        return true
    }

    func watchEnded() {
        runningWatches -= 1
    }

    // MARK: - Children

    /// Counts captures, because a wait in their time would take the stops that the capture thread waits for.
    func captureBegan() {
        runningCaptures += 1
    }

    func captureEnded() {
        runningCaptures -= 1
        if runningCaptures == 0, hasChildNews { childrenChanged() }
    }

    /// Says whose process a child is; nil when it is nobody's any more.
    func setOwner(of child: Int32, to kernel: LinuxKernel?) {
        owners[child] = kernel
    }

    /// SIGCHLD: something happened to a child, and nothing says to which.
    func childrenChanged() {
        hasChildNews = runningCaptures > 0
        // Whose child has ended looks at what is left of its tree, and asks again.
        guard !hasChildNews, !isReaping else { return }
        isReaping = true
        defer { isReaping = false }
        var last: Int32 = 0
        while let child = Subreaper.changedChild() {
            // Whose it is did not take note, and the kernel shows nothing else before: those behind it are looked for.
            guard child != last else {
                _ = Subreaper.reapOrphans(except: Set(kernels.values.flatMap(\.children)))
                return
            }
            last = child
            if let owner = owners[child] ?? kernels.values.first(where: { $0.children.contains(child) }) {
                owner.childrenChanged()
            } else {
                Subreaper.takeChange(of: child)
            }
        }
    }
}
