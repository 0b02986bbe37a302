// SPDX-License-Identifier: Apache-2.0

extension AppMachine {
    // MARK: - Tasks

    mutating func taskBegan(_ id: UInt64, _ name: String, at now: Instant, _ effects: inout [AppEffect]) {
        guard life == .launching || life == .running else { return }
        guard !lifecycle.record.openTasks.contains(where: { $0.id == id }) else {
            lifecycle.record.mistakes.repeatedTasks += 1
            return
        }
        // One over the limit is enough to judge; what is behind it is the same flood.
        guard lifecycle.record.openTasks.count <= spec.lifecycle.taskLimit else { return }
        let wasIdle = lifecycle.record.openTasks.isEmpty
        lifecycle.record.openTasks.append(BackgroundTask(id: id, name: name, begunAt: now))
        lifecycle.record.taskCount += 1
        scheduleTaskWarning()
        if lifecycle.record.openTasks.count > spec.lifecycle.taskLimit, !lifecycle.isFloodDecided {
            lifecycle.floodedAt = lifecycle.floodedAt ?? now
            judgeFlood(at: now, &effects)
        }
        guard wasIdle, lifecycle.freeze == nil, let stay = lifecycle.stay, now >= stay.end - spec.lifecycle.expiration
        else { return }
        // The time is spent: what begins now has to end within seconds.
        let end = max(stay.end, now + spec.lifecycle.expiration)
        lifecycle.stay?.isOver = false
        lifecycle.stay?.end = end
        expire(at: now, &effects)
    }

    mutating func taskEnded(_ id: UInt64, at now: Instant, _ effects: inout [AppEffect]) {
        guard let index = lifecycle.record.openTasks.firstIndex(where: { $0.id == id }) else {
            if life == .launching || life == .running { lifecycle.record.mistakes.unknownTasks += 1 }
            return
        }
        lifecycle.record.openTasks.remove(at: index)
        lifecycle.warnedTasks.remove(id)
        scheduleTaskWarning()
        guard lifecycle.record.openTasks.isEmpty else { return }
        if case .backgroundTasks = trigger?.reason { dropTrigger(at: now, &effects) }
        guard let stay = lifecycle.stay else { return }
        lifecycle.stay?.idleSince = now
        lifecycle.stay?.isExpiring = false
        if stay.isExpiring, spec.lifecycle.idle != nil, lifecycle.goal == .background { lifecycle.goal = .suspended }
        pursueGoal(at: now, &effects)
    }

    private mutating func scheduleTaskWarning() {
        let warned = lifecycle.warnedTasks
        let next = lifecycle.record.openTasks.first { !warned.contains($0.id) }
        lifecycle.taskWarning = next.map { $0.begunAt + spec.lifecycle.taskWarning }
    }

    mutating func warnOfOldTasks(at now: Instant, _ effects: inout [AppEffect]) {
        guard let due = lifecycle.taskWarning, now >= due else { return }
        for task in lifecycle.record.openTasks where !lifecycle.warnedTasks.contains(task.id) {
            guard now >= task.begunAt + spec.lifecycle.taskWarning else { break }
            lifecycle.warnedTasks.insert(task.id)
            effects.append(.announce(.lifecycle(.longTask(task, age: now - task.begunAt))))
        }
        scheduleTaskWarning()
    }

    // MARK: - Too many of them

    var floodDeadline: Instant? { trigger == nil && capture == nil ? lifecycle.floodedAt : nil }

    mutating func judgeFlood(at now: Instant, _ effects: inout [AppEffect]) {
        guard floodDeadline != nil, lifecycle.freeze == nil else { return }
        lifecycle.floodedAt = nil
        lifecycle.isFloodDecided = true
        beginTrigger(.tooManyTasks, Countdown(.backgroundTask, from: now, allowance: .zero), at: now, &effects)
    }

    // MARK: - A stay in the background

    /// Programs that do not take part have no tasks, and are not suspended because they are idle.
    mutating func beginStay(at now: Instant, _ effects: inout [AppEffect]) {
        guard lifecycle.record.takesPart else { return }
        lifecycle.stay = Lifecycle.Stay(since: now, end: now + spec.lifecycle.background, idleSince: now)
        if let limit = spec.lifecycle.backgroundCPUTime {
            lifecycle.cpu = Lifecycle.CPUWatch(
                isForLaunch: false, limit: limit, start: nil,
                nextLook: now + max(Lifecycle.shortestLook, limit))
        }
        effects += [.lifecycle(.grant(spec.lifecycle.background)), .lifecycle(.measure)]
    }

    mutating func endStay() {
        lifecycle.stay = nil
        if lifecycle.cpu?.isForLaunch == false { lifecycle.cpu = nil }
    }

    var stayDeadline: Instant? {
        guard life == .running, lifecycle.freeze == nil, trigger == nil, capture == nil, let stay = lifecycle.stay
        else { return nil }
        guard !lifecycle.record.openTasks.isEmpty else {
            guard lifecycle.goal == .background, lifecycle.obligations.isEmpty, lifecycle.waitingEvents.isEmpty
            else { return nil }
            return spec.lifecycle.idle.map { stay.idleSince + $0 }
        }
        if stay.isOver { return nil }
        return stay.isExpiring ? stay.end : max(stay.since, stay.end - spec.lifecycle.expiration)
    }

    mutating func stayDue(at now: Instant, _ effects: inout [AppEffect]) {
        guard let stay = lifecycle.stay, let due = stayDeadline else { return }
        guard !lifecycle.record.openTasks.isEmpty else {
            lifecycle.goal = .suspended
            pursueGoal(at: now, &effects)
            return
        }
        let lateness = now - due
        if lateness > spec.fairness.oversleep {
            effects.append(.announce(.overslept(by: lateness, event: .backgroundTask)))
            let expiration = spec.lifecycle.expiration
            lifecycle.stay?.end = now + (stay.isExpiring ? min(lateness, expiration) : expiration)
            if stay.isExpiring { return }
        }
        guard stay.isExpiring else {
            expire(at: now, &effects)
            return
        }
        effects.append(.lifecycle(.measure))
        beginTrigger(.backgroundTasks, basis(of: stay), at: now, &effects)
    }

    /// The whole of the app's time, for what was granted to a task that came late.
    private func basis(of stay: Lifecycle.Stay) -> Countdown {
        var basis = Countdown(.backgroundTask, from: stay.since, allowance: spec.lifecycle.background)
        basis.deadline = stay.end
        basis.credit = stay.credit
        return basis
    }

    /// Also before the time is over: then what is left is cut down to what the handlers need.
    mutating func expire(at now: Instant, _ effects: inout [AppEffect]) {
        guard var stay = lifecycle.stay else { return }
        stay.isExpiring = true
        stay.end = min(stay.end, now + spec.lifecycle.expiration)
        lifecycle.stay = stay
        let left = max(.zero, stay.end - now)
        effects += [
            .announce(.lifecycle(.expiring(tasks: lifecycle.record.openTasks.count, within: left))),
            .lifecycle(.expire(within: left)),
        ]
    }

    /// The machine was suspended: the handlers get their time, whatever the clock says.
    mutating func stayResumed(at now: Instant) {
        guard let stay = lifecycle.stay else { return }
        let end = max(stay.end, now + spec.lifecycle.expiration)
        lifecycle.stay?.end = end
    }

    /// Puts the end off, once, where the main thread waited for a CPU.
    mutating func creditTasks(at now: Instant, _ effects: inout [AppEffect]) -> Bool {
        guard let stay = lifecycle.stay, stay.credit == nil else { return false }
        let floor = spec.lifecycle.background * spec.fairness.creditFloorPercent / 100
        let cap = spec.lifecycle.background * spec.fairness.creditCapPercent / 100
        let credit = min(stay.runDelay, cap)
        guard credit > .zero, stay.runDelay >= floor, stay.end + credit > now else { return false }
        lifecycle.stay?.credit = credit
        lifecycle.stay?.end = stay.end + credit
        effects += [
            .announce(.starvationCredit(credit, event: .backgroundTask)),
            .lifecycle(.grant(stay.end + credit - now)),
        ]
        return true
    }

    // MARK: - CPU time

    mutating func watchLaunchCPUTime(at now: Instant) {
        let limit = spec.lifecycle.launchCPUTime
        lifecycle.cpu = Lifecycle.CPUWatch(
            isForLaunch: true, limit: limit, start: .zero,
            nextLook: now + max(Lifecycle.shortestLook, limit / max(1, spec.lifecycle.processorCount)))
    }

    mutating func lookAtCPUTime(at now: Instant, _ effects: inout [AppEffect]) {
        guard let watch = lifecycle.cpu, now >= watch.nextLook else { return }
        // Until the answer says when the next look makes sense.
        lifecycle.cpu?.nextLook = now + max(Lifecycle.shortestLook, watch.limit)
        effects.append(.lifecycle(.measure))
    }

    mutating func measured(_ use: ResourceUse, at now: Instant, _ effects: inout [AppEffect]) {
        if lifecycle.stay != nil {
            if lifecycle.stay?.start == nil { lifecycle.stay?.start = use }
            lifecycle.stay?.latest = use
        }
        guard let watch = lifecycle.cpu, life == .launching || life == .running, capture == nil, trigger == nil else {
            return
        }
        let start = watch.start ?? use.cpuTime
        lifecycle.cpu?.start = start
        let used = max(.zero, use.cpuTime - start)
        guard used >= watch.limit else {
            let soonest = (watch.limit - used) / max(1, spec.lifecycle.processorCount)
            lifecycle.cpu?.nextLook = now + max(Lifecycle.shortestLook, soonest)
            return
        }
        lifecycle.cpu = nil
        let since = watch.isForLaunch ? launchedAt : lifecycle.stay?.since
        let event = watch.isForLaunch ? countdown?.event ?? .sceneCreate : WatchdogEvent.backgroundTask
        var basis = Countdown(event, from: since ?? now, allowance: watch.limit)
        basis.deadline = now
        beginTrigger(
            watch.isForLaunch ? .launchCPUTime(used) : .backgroundCPUTime(used), basis, at: now, &effects)
    }
}
