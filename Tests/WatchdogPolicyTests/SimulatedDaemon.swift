// SPDX-License-Identifier: Apache-2.0

import TestSupport
import WatchdogBase
import WatchdogPolicy

/// A daemon on virtual time: the shipped machines of its apps, in a world of misbehaving processes, operators and
/// disks, where the daemon may die between any two effects.
///
/// The machines make every decision. The world carries out their effects and records a violation when a promise is
/// broken.
final class SimulatedDaemon {
    private struct Entry {
        let at: Instant
        let order: Int
        /// The daemon that the entry belongs to; nil if it happens without one.
        let epoch: Int?
        let action: () -> Void
    }

    var generator: SeededGenerator
    private(set) var now = Instant.origin
    var apps: [SimulatedApp] = []
    /// The machines of apps whose configuration is gone.
    var departing: [SimulatedBrain] = []
    var launches: [LaunchID: SimulatedLaunch] = [:]
    var files: [LaunchID: SimulatedFile] = [:]
    var processes: [LaunchID: SimulatedProcess] = [:]
    var haveRun: Set<LaunchID> = []
    var waiters: Set<Int> = []
    var incidents: [LaunchID: Set<Int>] = [:]
    var reports: [LaunchID: Set<Int>] = [:]
    private var agenda: [Entry] = []
    private var order = 0
    private(set) var epoch = 0
    /// How many more effects run before the simulated crash.
    private var fuse: Int?
    private var isDead = false
    var isShuttingDown = false

    /// Violations found so far.
    private(set) var complaints: [String] = []
    var events = 0
    var kills = 0
    var spawns = 0
    var deaths = 0

    /// The latest events and effects, for diagnosis.
    private(set) var trace: [String] = []
    private let isTracing: Bool

    init(seed: UInt64, apps count: Int, tracing: Bool = false) {
        isTracing = tracing
        generator = SeededGenerator(seed: seed)
        for index in 0..<count { apps.append(.random(index, &generator)) }
        start()
    }

    /// Runs this many steps, then shuts every app down.
    func run(steps: Int) {
        for _ in 0..<steps where complaints.isEmpty {
            if generator.oneIn(8) { interfere() }
            if fuse == nil, generator.oneIn(40) { fuse = generator.below(12) }
            advance()
        }
        fuse = nil
        if isDead { start() }
        if complaints.isEmpty { shutDown() }
    }

    private func shutDown() {
        isShuttingDown = true
        for id in processes.keys { processes[id]?.isUnkillable = false }
        for index in apps.indices {
            apps[index].promise.staysDown = true
            apps[index].promise.isRelaunchWished = false
        }
        for brain in apps.compactMap(\.brain) + departing { tell(brain, .shutDown) }
        for _ in 0..<5_000 where complaints.isEmpty && !(files.isEmpty && agenda.isEmpty) { advance() }
        for brain in apps.compactMap(\.brain) + departing {
            check(brain.machine.isAtRest, "\(name(brain)) is not at rest: \(brain.machine.phase)")
        }
        check(files.isEmpty && launches.isEmpty, "launches are left: \(files.keys) \(launches.keys)")
        check(processes.isEmpty, "processes are left: \(processes.keys)")
        check(apps.allSatisfy { $0.saved == nil || $0.brain == nil }, "apps are left on disk")
        check(waiters.isEmpty, "waiters are left: \(waiters)")
        for (launch, incidents) in incidents {
            check(incidents == reports[launch], "\(launch): incidents \(incidents), reports \(reports[launch] ?? [])")
        }
    }

    func check(_ isTrue: Bool, _ complaint: @autoclosure () -> String) {
        if !isTrue { complaints.append("at \(now - Instant.origin): \(complaint())") }
    }

    func note(_ line: @autoclosure () -> String) {
        if isTracing { trace.append("\(now - Instant.origin): \(line())") }
    }

    func name(_ brain: SimulatedBrain) -> String { apps[brain.app].spec.name }

    // MARK: - Time

    /// Handles the next entry; at one instant, the world comes before deadlines.
    private func advance() {
        if isDead { return start() }
        let next = agenda.indices.min { (agenda[$0].at, agenda[$0].order) < (agenda[$1].at, agenda[$1].order) }
        let deadline = deadline
        if let next, deadline.map({ agenda[next].at <= $0.at }) ?? true {
            let entry = agenda.remove(at: next)
            now = max(now, entry.at)
            if entry.epoch ?? epoch == epoch { entry.action() }
        } else if let deadline {
            now = max(now, deadline.at)
            if let launch = deadline.launch { return tell(launch, .deadlineReached) }
            if let brain = deadline.brain { tell(brain, .deadlineReached) }
        }
    }

    private struct Deadline {
        let at: Instant
        var launch: LaunchID?
        var brain: SimulatedBrain?
        /// The sort key, so that a storm does not depend on the order of a dictionary and can be repeated from its
        /// seed.
        var key: (Instant, String) { (at, launch?.description ?? "") }
    }

    private var deadline: Deadline? {
        var first: Deadline?
        for (id, launch) in launches {
            guard let at = launch.machine.nextDeadline, first.map({ at <= $0.at }) ?? true else { continue }
            let deadline = Deadline(at: at, launch: id)
            if first.map({ deadline.key < $0.key }) ?? true { first = deadline }
        }
        for case let brain? in apps.map(\.brain) {
            guard let at = brain.machine.nextDeadline, first.map({ at < $0.at }) ?? true else { continue }
            first = Deadline(at: at, brain: brain)
        }
        return first
    }

    /// - Parameter survives: whether the action happens even if this daemon dies.
    func after(_ delay: Duration, survives: Bool = false, _ action: @escaping () -> Void) {
        order += 1
        agenda.append(Entry(at: now + delay, order: order, epoch: survives ? nil : epoch, action: action))
    }

    // MARK: - Death

    /// Whether the daemon lives to run one more effect.
    func isAlive() -> Bool {
        if let left = fuse {
            if left == 0, !isDead {
                isDead = true
                note("the daemon dies")
            }
            fuse = max(0, left - 1)
        }
        return !isDead
    }

    /// Starts a daemon, which finds what the previous one left.
    private func start() {
        if isDead { deaths += 1 }
        note("a daemon starts")
        (isDead, fuse, epoch) = (false, nil, epoch + 1)
        (launches, departing, waiters) = ([:], [], [])
        now = now + .milliseconds(generator.below(200))
        for index in apps.indices {
            if epoch > 1, generator.oneIn(12) {
                apps[index].standing = generator.pick([.enabled, .disabled, .invalid, .removed])
            }
            apps[index].promise = apps[index].savedPromise
            // If the file returns, the app is to run again.
            if apps[index].standing == .removed { apps[index].promise.staysDown = false }
            apps[index].brain = nil
            let found = files.filter { $0.value.app == index }.sorted { left, right in
                func instant(_ file: SimulatedFile) -> Instant { file.machine.launchedAt ?? Instant(nanoseconds: .max) }
                return (instant(left.value), left.value.order) > (instant(right.value), right.value.order)
            }
            let isConfigured = apps[index].standing == .enabled || apps[index].standing == .disabled
            if !isConfigured, found.isEmpty {
                if apps[index].standing == .removed { (apps[index].saved, apps[index].savedPromise) = (nil, .init()) }
                continue
            }
            let brain = add(index)
            for (launch, file) in found {
                if brain.isConfigured, generator.oneIn(15), lose(launch, brain) { continue }
                var isOver = false
                if case .ended = file.machine.phase { isOver = true }
                tell(brain, .inherited(launch, isOver: isOver))
            }
        }
        for brain in apps.compactMap(\.brain) { tell(brain, .begun) }
    }

    /// Damages the file of a launch; its process, if it exists, is still found.
    private func lose(_ launch: LaunchID, _ brain: SimulatedBrain) -> Bool {
        guard processes[launch] != nil, brain.machine.isInheriting else { return false }
        files[launch]?.pending = []
        (incidents[launch], reports[launch]) = (nil, nil)
        tell(brain, .found(launch))
        return true
    }

    /// Registers an app.
    @discardableResult
    func add(_ index: Int) -> SimulatedBrain {
        let app = apps[index]
        let machine = AppMachine(
            app.standing, restart: Shared(wrappedValue: app.settings), seed: generator.next(), resuming: app.saved)
        let brain = SimulatedBrain(index, machine)
        apps[index].brain = brain
        return brain
    }
}
