// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore

/// One target of `watchdogd observe`: judges its process, across restarts, and reports hangs.
///
/// It never signals the process.
///
/// Isolation: the loop's thread.
final class ObservedApp {
    private let configuration: ObserveConfiguration
    private let host: Host
    private let observation: Observation
    private let store: ReportStore
    private var launch: AppLaunch?
    /// Ended launches with reports still to be written.
    private var former: [AppLaunch] = []

    /// Called when the target can never have a process again.
    var onEnd: () -> Void = {}
    /// Called if the target cannot be observed when the observation begins.
    var onRefusal: ((RunError) -> Void)?

    init(
        _ target: ObservedTarget, _ configuration: ObserveConfiguration, on bus: ServiceBus, _ host: Host,
        store: ReportStore
    ) throws {
        self.configuration = configuration
        self.host = host
        self.store = store
        observation = try Observation(of: target, on: bus, host)
        observation.onProcess = { [unowned self] in follow($0, $1) }
        observation.onAbsence = { [unowned self] in absent($0, isExpected: $1) }
    }

    private var target: ObservedTarget { observation.target }

    func begin() { observation.begin() }

    /// Ends the observation; the process keeps running.
    func stop() {
        observation.stop()
        for launch in former { launch.shell.stop() }
        launch?.shell.stop()
    }

    private func absent(_ reason: RunError, isExpected: Bool) {
        if !isExpected, let onRefusal { return onRefusal(reason) }
        onRefusal = nil
        tell(reason)
    }

    private func tell(_ news: RunError) {
        if configuration.verbosity != .quiet { StandardError.mention(news.description) }
    }

    // MARK: - One process

    private func follow(_ process: ObservedProcess, _ unit: ServiceUnit?) {
        // The service has a new main process while the old one still runs.
        if let launch { release(launch) }
        do throws(RunError) {
            try ObservedPushes.checkJudgeable(target, configuration.probe, unit)
        } catch {
            return observation.refuse(error)
        }
        onRefusal = nil
        do {
            let name = if case .process = target { process.name } else { target.name }
            let observed = process.configuration(
                configuration.spec(name), configuration.probe?.target, store: store)
            let launch = try AppLaunch(observing: process, observed, on: host)
            connect(launch)
            try launch.shell.start(launch.supervisor)
            self.launch = launch
            launch.adopt()
            let restarts = configuration.consequence == .restartUnit
            say(.adopted, process.words(name, configuration.probe, unit, restarts: restarts), launch)
            observation.follow(process, unit, with: launch.supervisor)
        } catch {
            observation.refuse(.internalFailure("\(target.name) cannot be observed: \(error)"))
        }
    }

    private func release(_ launch: AppLaunch) {
        if self.launch === launch { self.launch = nil }
        guard launch.hasPendingReports else { return launch.shell.stop() }
        former.append(launch)
    }

    private func connect(_ launch: AppLaunch) {
        let narration = Narration(
            name: launch.shell.configuration.name.singleLine(limit: 64), verbosity: configuration.verbosity)
        launch.supervisor.onNotice = { [unowned self, unowned launch] notice in
            switch notice {
            // Reported elsewhere with more detail; an end is reported when it is handled.
            case .adopted, .exited, .transgressed: return
            default: break
            }
            host.log.tell(JournalEntry(notice, about: launch.shell.subject), line: narration.line(for: notice))
        }
        launch.supervisor.onFinish = { [unowned self, weak launch] _ in
            // Deferred, because the launch is still handling its end.
            _ = host.pacer.schedule(after: .zero) { [weak self] in if let launch { self?.ended(launch) } }
        }
        launch.shell.incidents.onReport = { [unowned self, unowned launch] incident, report in
            host.log.tell(
                JournalEntry(incident, report, about: launch.shell.subject),
                line: narration.lines(of: incident, pid: launch.pid, report))
            reported(launch)
            if self.launch === launch { act() }
        }
        launch.shell.incidents.onHangReport = { [unowned self, unowned launch] hang, report in
            host.log.tell(
                JournalEntry(hang, report, about: launch.shell.subject),
                line: configuration.verbosity == .quiet ? nil : narration.lines(of: hang, pid: launch.pid, report))
            reported(launch)
        }
    }

    private func reported(_ launch: AppLaunch) {
        guard let index = former.firstIndex(where: { $0 === launch }), !launch.hasPendingReports else { return }
        former.remove(at: index)
        _ = host.pacer.schedule(after: .zero) { launch.shell.stop() }
    }

    private func ended(_ launch: AppLaunch) {
        guard self.launch === launch else { return }
        say(.exited, "\(launch.shell.configuration.name): process \(launch.pid ?? 0) has ended", launch)
        release(launch)
        guard case .process = target else { return observation.processEnded() }
        observation.stop()
        onEnd()
    }

    /// Executes the consequence of a hang.
    private func act() {
        guard configuration.consequence == .restartUnit, let launch else { return }
        observation.restart { [weak self] in self?.say($0, $1, launch) }
    }

    private func say(_ kind: EventKind, _ text: String, _ launch: AppLaunch) {
        host.log.tell(
            JournalEntry(kind, text, about: launch.shell.subject),
            line: configuration.verbosity == .quiet ? nil : text)
    }
}
