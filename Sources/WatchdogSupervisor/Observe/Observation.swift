// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy

/// Finds the process of a target, finds it again after each restart, and passes on what systemd knows of it.
///
/// Isolation: the loop's thread.
final class Observation {
    /// How long it may take to query systemd and to inspect the process.
    private static let patience = Duration.seconds(5)

    let target: ObservedTarget
    private let bus: ServiceBus
    private let host: Host
    private let lane: Int
    private var poll: Timer?
    private var look: BlockingWork.Ticket?
    /// False once the target is of no interest.
    private var isWanted = false
    private var supervisor: Supervisor?
    private var known: Int32?
    private var pushes = ObservedPushes()
    /// Whether the process is that of a container, although a service might have had that name.
    private var isContainer = false
    /// Consecutive searches that found neither a service nor a container.
    private var failures = 0
    /// The last text about a target without a process, so that it is not repeated.
    private var lastNews = ""

    /// Called with a process to follow, and its service; the former process is over.
    var onProcess: (ObservedProcess, ServiceUnit?) -> Void = { _, _ in }
    /// Called when there is no process, once for each reason; whether one is expected.
    var onAbsence: (RunError, _ isExpected: Bool) -> Void = { _, _ in }

    init(of target: ObservedTarget, on bus: ServiceBus, _ host: Host) throws(LinuxError) {
        self.target = target
        self.bus = bus
        self.host = host
        lane = host.makeKey()
        poll = try host.timer { [unowned self] _ in begin() }
    }

    /// Looks for the process now.
    func begin() {
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

    /// Passes pushes on to the supervisor of a process from now on.
    func follow(_ process: ObservedProcess, _ unit: ServiceUnit?, with supervisor: Supervisor) {
        known = process.process.pid
        self.supervisor = supervisor
        pushes = ObservedPushes()
        lastNews = ""
        if let unit { judge(unit) }
    }

    /// The process has ended; looks for its successor.
    func processEnded() {
        stop()
        begin()
    }

    /// Stops searching until ``begin()``.
    func stop() {
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
        // The end of a process is an event; only a service can have another main process before that.
        switch target {
        case .process: break
        case .container where known != nil, .service where known != nil && isContainer: break
        // A search for a container reads all of /proc.
        case .container, .service:
            poll?.arm(at: host.loop.now + (failures > 10 ? .seconds(10) : ObservedPushes.poll(unit)))
        }
    }

    /// The process that was found cannot be judged; looks again later, because its service may change.
    func refuse(_ reason: RunError) {
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
    func restart(then tell: @escaping (EventKind, String) -> Void) {
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
    /// As in "nginx *has failed (signal)*".
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
