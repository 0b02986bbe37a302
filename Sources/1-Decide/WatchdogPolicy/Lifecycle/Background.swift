// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// What an app does in the background: its tasks, the current stay, and the CPU time it may use.
struct Background: Hashable, Sendable {
    /// How many open tasks an incident lists.
    private static let namedTasks = 64

    private var tasks = BackgroundTasks()
    private var stay: Stay?
    private var cpu: CPUWatch?

    init() {}

    var openTasks: [BackgroundTask] { tasks.open }
    var taskCount: Int { tasks.count }
    var hasTasks: Bool { !tasks.open.isEmpty }
    var runDelay: Duration { stay?.runDelay ?? .zero }
    var idleSince: Instant? { stay?.idleSince }
    /// Whether nothing keeps the app from being suspended.
    var isOver: Bool { !hasTasks || stay?.isOver != false }
    /// When a measurement or a warning is due.
    var sampleDue: Instant? { .earliest(cpu?.next, tasks.warning) }
    var floodedAt: Instant? { tasks.floodedAt }
    /// When open tasks must expire, or have expired.
    func tasksDue(_ spec: Shared<AppSpec>) -> Instant? { stay?.due(spec.wrappedValue.lifecycle) }

    // MARK: - Launches and stays

    mutating func beginLaunch(_ turn: Turn) { cpu = .launch(turn) }
    mutating func endLaunch() { cpu = nil }

    mutating func beginStay(_ turn: inout Turn) {
        stay = Stay(turn)
        if let watch = CPUWatch.stay(turn) { cpu = watch }
        turn.perform(.grant(turn.spec.lifecycle.background))
        turn.perform(.measure)
    }

    mutating func endStay() {
        stay = nil
        if cpu?.isForLaunch == false { cpu = nil }
    }

    mutating func beIdle(at now: Instant) { stay?.beIdle(at: now) }

    /// Handles a suspension of the machine or of the supervisor.
    mutating func machineResumed(_ turn: Turn) { stay?.resumed(turn) }

    /// Drops all tasks, because the app no longer reports them.
    mutating func drop() {
        tasks.drop()
        endStay()
    }

    mutating func end() {
        tasks.end()
        stay = nil
        cpu = nil
    }

    // MARK: - Tasks

    /// Records that a task began; the result says whether too many are open.
    mutating func taskBegan(
        _ id: UInt64, _ name: String, _ mistakes: inout LifecycleRecord.Mistakes, _ turn: Turn
    ) -> BackgroundTasks.Beginning {
        let beginning = tasks.begin(id, name, turn)
        if case .repeated = beginning { mistakes.repeatedTasks += 1 }
        return beginning
    }

    /// Handles the first task; if the time is used up, it must end within seconds.
    mutating func expireIfSpent(_ turn: inout Turn) {
        if stay?.taskBegan(turn) == true { expire(&turn) }
    }

    mutating func expire(_ turn: inout Turn) { stay?.expire(tasks: tasks.open.count, &turn) }

    /// Starts expiration, unless the handlers are already running.
    mutating func expireIfOpen(_ turn: inout Turn) { if stay?.isOpen == true { expire(&turn) } }

    /// Returns false if no such task is open.
    mutating func taskEnded(_ id: UInt64, _ turn: Turn) -> Bool { tasks.end(id, turn) }

    /// Records that the last task ended; returns whether the handlers had been asked for that, or nil outside a stay.
    mutating func tasksEnded(at now: Instant) -> Bool? { stay?.tasksEnded(at: now) }

    // MARK: - Deadlines

    mutating func sample(_ turn: inout Turn) {
        tasks.warn(&turn)
        cpu?.due(&turn)
    }

    mutating func judgeFlood(_ watches: inout Watches, _ turn: inout Turn) {
        guard tasks.floodedAt != nil, !watches.isJudging else { return }
        tasks.decideFlood()
        let judgement = Judgement(.backgroundTask, from: turn.now, allowance: .zero)
        watches.beginTrigger(.tooManyTasks, judgement, &turn)
    }

    /// Handles the end of the time for tasks, or the start of the time for their handlers.
    mutating func tasksDue(at due: Instant, _ watches: inout Watches, _ turn: inout Turn) {
        guard let current = stay else { return }
        if case .overslept(let lateness) = turn.spec.fairness.passage(of: due, at: turn.now) {
            turn.announce(.overslept(by: lateness, event: .backgroundTask))
            stay?.overslept(by: lateness, turn)
            if !current.isOpen { return }
        }
        guard !current.isOpen else { return expire(&turn) }
        turn.perform(.measure)
        watches.beginTrigger(.backgroundTasks, current.judgement, &turn)
    }

    mutating func measured(_ use: ResourceUse, _ watches: inout Watches, _ turn: inout Turn) {
        stay?.measured(use)
        guard let watch = cpu, turn.life == .launching || turn.life == .running, !watches.isJudging,
            let used = cpu?.measured(use, turn)
        else { return }
        cpu = nil
        let since = (watch.isForLaunch ? turn.launch.startedAt : stay?.since) ?? turn.now
        let event = watch.isForLaunch ? watches.duties.judgement?.event ?? .sceneCreate : .backgroundTask
        let judgement = Judgement(event, from: since, allowance: watch.limit).unexcused(at: turn.now)
        watches.beginTrigger(watch.isForLaunch ? .launchCPUTime(used) : .backgroundCPUTime(used), judgement, &turn)
    }

    /// The cause of an incident that is decided now.
    mutating func decided(_ reason: TriggerWatch.Reason, at now: Instant) -> Incident.Cause {
        let named = Array(tasks.open.prefix(Self.namedTasks))
        switch reason {
        case .asked: return .triggered
        case .backgroundTasks:
            let isBusy = stay?.isMachineBusy(at: now) ?? false
            stay?.decide()
            return .backgroundTasks(named, isMachineBusy: isBusy)
        case .tooManyTasks: return .tooManyTasks(tasks.open.count, first: named)
        case .launchCPUTime(let used): return .launchCPUTime(used: used)
        case .backgroundCPUTime(let used): return .backgroundCPUTime(used: used)
        case .lockedFiles(let files): return .lockedFiles(files)
        }
    }

    mutating func postpone(_ judgement: Judgement) { stay?.postpone(judgement) }
}

extension Background {
    init(_ saved: SavedBackground) {
        tasks = BackgroundTasks(saved.tasks)
        stay = saved.stay.map { Stay($0) }
        cpu = saved.cpu.map { CPUWatch($0) }
    }

    var saved: SavedBackground { SavedBackground(tasks: tasks.saved, stay: stay?.saved, cpu: cpu?.saved) }
}
