// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogConfiguration
package import WatchdogLaunch
package import WatchdogLinux
import WatchdogPolicy

/// Finds the process of a target, and again after each restart, and forwards its service's pushes from systemd.
///
/// Isolation: the loop's thread.
package final class Observation {
    /// The time limit for querying systemd and inspecting the process.
    private static let patience = Duration.seconds(5)

    package let target: ObservedTarget
    private let bus: ServiceBus
    private let host: Host
    private let lane: Int
    private var poll: Timer?
    private var look: BlockingWork.Ticket?
    /// Whether the target is still observed.
    private var isWanted = false
    private var supervisor: Supervisor?
    private var known: Int32?
    private var pushes = ObservedPushes()
    /// Whether the target was found as a container; the name alone could also mean a service.
    private var isContainer = false
    /// Consecutive searches that found neither a service nor a container.
    private var failures = 0
    /// The last message about a missing process, which is not repeated.
    private var lastNews = ""

    /// Called with a new process to follow, and its service; the previous process is no longer observed.
    package var onProcess: (ObservedProcess, ServiceUnit?) -> Void = { _, _ in }
    /// Called once for each reason why there is no process; `isExpected` if one will appear by itself.
    package var onAbsence: (RunError, _ isExpected: Bool) -> Void = { _, _ in }

    package init(of target: ObservedTarget, on bus: ServiceBus, _ host: Host) throws(LinuxError) {
        self.target = target
        self.bus = bus
        self.host = host
        lane = host.makeKey()
        poll = try host.timer { [unowned self] _ in begin() }
    }

    /// Starts to search for the process.
    package func begin() {
        isWanted = true
        guard look == nil else { return }
        look = host.work.run(in: lane, within: Self.patience) { [target, bus, known, copiers = host.copiers] in
            ObservedProcess.find(target, on: bus, known: known, by: copiers)
        } then: { [weak self] finding in
            guard let self else { return }
            look = nil
            found(finding ?? .failed(.unavailable("\(target.name) cannot be observed: systemd does not answer")))
        }
    }

    /// Starts to forward pushes to the process's supervisor.
    package func follow(_ process: ObservedProcess, _ unit: ServiceUnit?, with supervisor: Supervisor) {
        known = process.process.pid
        self.supervisor = supervisor
        pushes = ObservedPushes()
        lastNews = ""
        if let unit { judge(unit) }
    }

    /// Starts to search for the next process after the end of this one.
    package func processEnded() {
        stop()
        begin()
    }

    /// Stops searching until ``begin()``.
    package func stop() {
        isWanted = false
        poll?.arm(at: nil)
        if let look { host.work.cancel(look) }
        look = nil
        known = nil
        supervisor = nil
    }

    private func found(_ finding: ObservedProcess.Finding) {
        var unit: ServiceUnit?
        if case .failed = finding { failures += 1 } else { failures = 0 }
        switch finding {
        case .found(let process, let service):
            unit = service
            isContainer = service == nil
            if known != process.process.pid { onProcess(process, service) }
        case .unchanged(let service):
            unit = service
            judge(service)
        case .stopped(let service):
            absent(.unavailable("\(target.name) \(service.stateInWords); waiting for it to start"), isExpected: true)
        case .failed(let error): absent(error, isExpected: false)
        }
        guard isWanted else { return }
        // The end of a process is reported by its pidfd; only a service can change its main process before that.
        switch target {
        case .process: break
        case .container where known != nil, .service where known != nil && isContainer: break
        // Search less often: a search for a container reads all of /proc.
        case .container, .service:
            poll?.arm(at: host.loop.now + (failures > 10 ? .seconds(10) : ObservedPushes.poll(unit)))
        }
    }

    /// Rejects a process that cannot be judged, and searches again later, because its service may change.
    package func refuse(_ reason: RunError) {
        known = nil
        supervisor = nil
        absent(reason, isExpected: false)
    }

    private func absent(_ reason: RunError, isExpected: Bool) {
        guard reason.description != lastNews else { return }
        lastNews = reason.description
        onAbsence(reason, isExpected)
    }

    private func judge(_ unit: ServiceUnit) {
        guard let supervisor else { return }
        for event in pushes.events(in: unit) {
            switch event {
            case .allowance(let allowance): supervisor.handle(.machine(.watchdogIntervalChanged(allowance)))
            case .pushed: supervisor.handle(.machine(.watchdogPinged))
            }
        }
    }

    /// Asks systemd to restart the service, and reports the result.
    package func restart(then tell: @escaping (EventKind, String) -> Void) {
        guard case .service(let name) = target else { return }
        host.work.run(in: lane, within: Self.patience) { [bus] in
            Result { () throws(ServiceBus.Failure) in try bus.restart(name) }
        } then: { result in
            switch result {
            case .success?: tell(.restarting, "asked systemd to restart \(name)")
            case .failure(let error)?: tell(.launchFailed, "\(name) was not restarted: \(error)")
            case nil: tell(.launchFailed, "\(name) was not restarted: systemd does not answer")
            }
        }
    }
}

extension ServiceUnit {
    /// The state as a predicate: "nginx *has failed (signal)*".
    fileprivate var stateInWords: String {
        switch activeState {
        case "failed": "has failed (\(result))"
        case "inactive": "is not running"
        case "activating" where result != "success": "has failed (\(result)) and is being restarted"
        case "activating": "is starting"
        case "deactivating": "is stopping"
        default: "has no main process"
        }
    }
}
