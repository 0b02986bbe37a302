// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogPolicy

/// A daemon with its apps on virtual time: both machines of each app, processes that behave as badly as they like,
/// operators, reloads, and the daemon's own death.
final class SimulatedDaemon {
    private struct App {
        var spec: AppSpec
        var restarts: RestartMachine
        var machine: AppMachine?
        /// When it is to be launched; nil when it is not.
        var due: Instant?
        var isWanted = true
        var wantsRelaunch = false
        var isAlive = false
        var isHanging = false
        var isDeaf = false
        var isUnkillable = false
        var spawns = 0
        var decidedRestarts = 0
        var enforced: Set<Int> = []
        var reported: Set<Int> = []
    }

    private enum Deed {
        case tell(AppEvent)
        case crash
        case hang
    }

    private var generator: SeededGenerator
    private var now = Instant.origin
    private var apps: [App] = []
    private var agenda: [(at: Instant, order: Int, app: Int, launch: Int, deed: Deed)] = []
    private var order = 0
    /// What was seen to be wrong.
    private(set) var complaints: [String] = []
    private(set) var kills = 0
    private(set) var launches = 0
    private(set) var daemonDeaths = 0

    init(seed: UInt64, apps count: Int) {
        generator = SeededGenerator(seed: seed)
        for index in 0..<count {
            var settings = RestartSettings()
            settings.policy = generator.pick([.always, .onFailure, .onWatchdog, .never])
            settings.consequence = generator.pick([.stop, .keepTrying])
            settings.limit = generator.pick([.count(3), .count(20), .infinity])
            let spec = AppSpec(
                name: "app\(index)",
                allowances: Allowances(launch: .seconds(3), update: .seconds(2), terminate: .seconds(1)),
                readiness: generator.pick([.channel, .none]))
            let restarts = RestartMachine(settings: Shared(wrappedValue: settings), seed: generator.next())
            apps.append(App(spec: spec, restarts: restarts))
            launch(index)
        }
    }

    /// Lets so much happen, then ends every app as an ordered stop does.
    func run(steps: Int) throws {
        for _ in 0..<steps where complaints.isEmpty {
            if generator.oneIn(8) { try interfere() }
            advance()
        }
        for index in apps.indices {
            apps[index].isUnkillable = false
            stop(index)
        }
        for _ in 0..<2_000 where apps.contains(where: { isLive($0) }) && complaints.isEmpty { advance() }
        for app in apps {
            check(!isLive(app), "\(app.spec.name) did not end")
            check(app.enforced == app.reported, "\(app.spec.name): kills \(app.enforced), reports \(app.reported)")
            check(
                app.restarts.restarts <= app.spawns,
                "\(app.spec.name): \(app.restarts.restarts) of \(app.spawns) spawns")
        }
    }

    private func check(_ isTrue: Bool, _ complaint: @autoclosure () -> String) {
        if !isTrue { complaints.append("at \(now - Instant.origin): \(complaint())") }
    }

    private func isLive(_ app: App) -> Bool {
        guard let machine = app.machine else { return false }
        if case .ended = machine.phase { return false }
        return true
    }

    // MARK: - Time

    /// The next thing that happens: of one instant, what processes do comes before deadlines.
    private func advance() {
        let next = agenda.indices.min { (agenda[$0].at, agenda[$0].order) < (agenda[$1].at, agenda[$1].order) }
        let deadline = apps.indices.compactMap { index in
            [apps[index].machine?.nextDeadline, apps[index].due].compactMap(\.self).min().map { (at: $0, app: index) }
        }.min { $0.at < $1.at }
        if let next, deadline.map({ agenda[next].at <= $0.at }) ?? true {
            let entry = agenda.remove(at: next)
            now = max(now, entry.at)
            guard entry.launch == apps[entry.app].spawns else { return }
            perform(entry.deed, entry.app)
        } else if let deadline {
            now = max(now, deadline.at)
            if let due = apps[deadline.app].due, due <= now { return launch(deadline.app) }
            tell(.deadlineReached, deadline.app)
        }
    }

    private func after(_ delay: Duration, _ app: Int, _ deed: Deed) {
        order += 1
        agenda.append((now + delay, order, app, apps[app].spawns, deed))
    }

    private func perform(_ deed: Deed, _ index: Int) {
        switch deed {
        case .tell(let event): tell(event, index)
        case .hang: apps[index].isHanging = true
        case .crash:
            // What cannot be killed waits for a device, and does not end by itself either.
            guard apps[index].isAlive, !apps[index].isUnkillable else { return }
            apps[index].isAlive = false
            tell(.exited(generator.oneIn(2) ? .exited(code: 0) : .signaled(signal: 11, coreDumped: false)), index)
        }
    }

    // MARK: - What people do, and what becomes of the daemon

    private func interfere() throws {
        let index = generator.below(apps.count)
        switch generator.below(6) {
        case 0: stop(index)
        case 1:
            let isLive = isLive(apps[index])
            stop(index)
            apps[index].wantsRelaunch = isLive
            apps[index].isWanted = true
            if !isLive { apps[index].due = now }
        case 2:
            guard !isLive(apps[index]), apps[index].due == nil else { return }
            apps[index].restarts.reset()
            apps[index].isWanted = true
            apps[index].due = now
        case 3:
            var settings = RestartSettings()
            settings.delay = .milliseconds(Int64(1 + generator.below(500)))
            apps[index].restarts.update(Shared(wrappedValue: settings))
        default:
            try die()
        }
    }

    /// Ends as the operator wants it; said of an app that is ending, it is killed.
    private func stop(_ index: Int) {
        apps[index].isWanted = false
        apps[index].wantsRelaunch = false
        apps[index].due = nil
        if isLive(apps[index]) { tell(.terminateRequested, index) }
    }

    /// The daemon is killed, and another goes on with what was saved; processes do not notice.
    private func die() throws {
        daemonDeaths += 1
        let pause = Duration.milliseconds(Int64(generator.below(200)))
        for index in apps.indices {
            let restarts = try JSONEncoder().encode(apps[index].restarts)
            apps[index].restarts = try JSONDecoder().decode(RestartMachine.self, from: restarts)
            guard let machine = apps[index].machine, isLive(apps[index]) else { continue }
            let saved = try JSONDecoder().decode(AppMachine.self, from: JSONEncoder().encode(machine))
            guard let resumed = AppMachine(resuming: saved) else {
                check(false, "\(apps[index].spec.name) was forgotten")
                continue
            }
            check(resumed.nextDeadline == machine.nextDeadline, "\(apps[index].spec.name): another deadline")
            apps[index].machine = resumed
        }
        now = now + pause
        // What happened meanwhile is read first.
        for entry in agenda.filter({ $0.at <= now }).sorted(by: { ($0.at, $0.order) < ($1.at, $1.order) }) {
            agenda.removeAll { $0.order == entry.order }
            if entry.launch == apps[entry.app].spawns { perform(entry.deed, entry.app) }
        }
        for index in apps.indices where isLive(apps[index]) { tell(.supervisorReturned(isLastStepDone: true), index) }
    }

    // MARK: - Apps

    private func launch(_ index: Int) {
        apps[index].due = nil
        guard !isLive(apps[index]) else { return }
        apps[index].machine = AppMachine(spec: apps[index].spec, nonceSeed: generator.next())
        apps[index].enforced = []
        apps[index].reported = []
        apps[index].restarts.launched(at: now)
        tell(.launchRequested, index)
    }

    private func tell(_ event: AppEvent, _ index: Int) {
        guard let effects = apps[index].machine?.handle(event, at: now) else { return }
        for effect in effects { perform(effect, index) }
    }

    private func perform(_ effect: AppEffect, _ index: Int) {
        switch effect {
        case .spawn: spawn(index)
        case .sendPing(let nonce):
            if !apps[index].isHanging { after(.milliseconds(1), index, .tell(.ponged(nonce: nonce))) }
        case .inspect: after(.zero, index, .tell(.inspected(Evidence(state: "S"))))
        case .terminate:
            if apps[index].isAlive, !apps[index].isDeaf { after(.milliseconds(20), index, .crash) }
        case .capture(let incident):
            if incident.isEnforced { kill(index) }
            after(.milliseconds(1), index, .tell(.captured))
        case .killTree:
            kill(index)
            if !apps[index].isUnkillable { after(.milliseconds(2), index, .tell(.treeEmptied)) }
        case .report(let incident):
            check(apps[index].reported.insert(incident.id).inserted, "\(apps[index].spec.name): a second report")
            if !incident.isEnforced { apps[index].enforced.insert(incident.id) }
        case .announce(.transgressed(let incident)):
            check(now >= incident.deadline, "\(apps[index].spec.name): before its deadline")
            apps[index].enforced.insert(incident.id)
            kills += 1
        case .announce(.ready): apps[index].restarts.ready(at: now)
        case .finish(let outcome): finished(outcome, index)
        default: break
        }
    }

    private func spawn(_ index: Int) {
        check(!apps[index].isAlive, "\(apps[index].spec.name): a second process")
        check(apps[index].isWanted, "\(apps[index].spec.name): launched although it was stopped")
        launches += 1
        apps[index].spawns += 1
        apps[index].isAlive = true
        apps[index].isHanging = false
        apps[index].isDeaf = generator.oneIn(4)
        apps[index].isUnkillable = generator.oneIn(60)
        after(.zero, index, .tell(.spawned(pid: Int32(1_000 + order))))
        after(.milliseconds(1), index, .tell(.hello))
        if !generator.oneIn(8) { after(.milliseconds(50), index, .tell(.ready(.channel))) }
        if generator.oneIn(3) { after(.milliseconds(Int64(generator.below(90_000))), index, .hang) }
        if generator.oneIn(2) { after(.milliseconds(Int64(generator.below(90_000))), index, .crash) }
    }

    private func kill(_ index: Int) {
        guard apps[index].isAlive, !apps[index].isUnkillable else { return }
        apps[index].isAlive = false
        after(.milliseconds(1), index, .tell(.exited(.signaled(signal: 9, coreDumped: false))))
    }

    private func finished(_ outcome: Outcome, _ index: Int) {
        check(outcome.isDeathVerified != apps[index].isAlive, "\(apps[index].spec.name): a wrong word about its death")
        if apps[index].wantsRelaunch, outcome.isDeathVerified {
            apps[index].wantsRelaunch = false
            apps[index].restarts.reset()
            apps[index].due = now
            return
        }
        let decision = apps[index].restarts.ended(
            outcome, wasRequested: !apps[index].isWanted, causedByMemory: false, at: now)
        switch decision {
        case .restart(let instant, _):
            check(instant >= now && apps[index].isWanted, "\(apps[index].spec.name): a restart that nobody wants")
            apps[index].due = instant
        case .limitReached(_, let next): apps[index].due = next
        case .stay: break
        }
        if !outcome.isDeathVerified {
            check(apps[index].due == nil, "\(apps[index].spec.name): launched beside what SIGKILL did not end")
            // An unkillable process is gone one day.
            apps[index].isUnkillable = false
            apps[index].isAlive = false
        }
    }
}
