// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogConfiguration
package import WatchdogLaunch
package import WatchdogLinux
package import WatchdogPolicy
import WatchdogReport
package import WatchdogReportStore

/// A running process that another supervisor started, and its details for reports.
package struct ObservedProcess: Sendable {
    /// The result of a search for a target's process.
    package enum Finding: Sendable {
        case found(ObservedProcess, ServiceUnit?)
        /// The service still has the same main process.
        case unchanged(ServiceUnit)
        /// The service exists and has no main process.
        case stopped(ServiceUnit)
        case failed(RunError)
    }

    package let process: Pidfd
    let startTime: UInt64
    /// The time of its start, on both clocks.
    package let launched: LaunchMoment
    /// The kernel's name for the process.
    package let name: String
    let executable: String
    package let arguments: [ByteString]
    package let user: UInt32
    let parent: (pid: Int32, name: String)
    /// The directory of the cgroup that holds the service or container; nil if only descendants can be attributed.
    package private(set) var cgroup: String?
    /// The version of the container's image; nil outside of containers, or if it is unknown.
    private(set) var imageVersion: String?
    /// The owner, as in "runs as *nginx.service of systemd*".
    let owner: String

    /// Searches for the process of a target.
    ///
    /// Blocks on systemd and on the process, so call it off the loop.
    ///
    /// - Parameters:
    ///   - known: the known main process of a service; nil if unknown.
    ///   - copiers: read the memory of the process.
    package static func find(
        _ target: ObservedTarget, on bus: ServiceBus, known: Int32?, by copiers: Copiers
    ) -> Finding {
        do throws(RunError) {
            switch target {
            case .process(let pid): return .found(try ObservedProcess(pid, owner: "by someone else", copiers), nil)
            case .container(let id): return .found(try ObservedProcess(container: id, copiers), nil)
            case .service(let name): return try find(serviceOrContainer: name, on: bus, known: known, copiers)
            }
        } catch {
            return .failed(error)
        }
    }

    /// Searches for a service, and without one for a container of this name.
    private static func find(
        serviceOrContainer name: String, on bus: ServiceBus, known: Int32?, _ copiers: Copiers
    ) throws(RunError) -> Finding {
        do throws(RunError) {
            return try find(service: name, on: bus, known: known, copiers)
        } catch {
            guard let stem = ObservedTarget.service(name).containerName else { throw error }
            do throws(RunError) {
                let found = try ObservedProcess(container: stem, copiers)
                guard known == nil || found.process.pid == known else { throw error }
                return .found(found, nil)
            } catch let other {
                // The target was a service before, so this is a temporary failure of systemd.
                guard known == nil else { throw error }
                guard other.exitCode == RunError.noInput("").exitCode else { throw other }
                throw RunError("\(error.description); \(other.description)", exitCode: error.exitCode)
            }
        }
    }

    private static func find(
        service name: String, on bus: ServiceBus, known: Int32?, _ copiers: Copiers
    ) throws(RunError) -> Finding {
        let unit: ServiceUnit
        do {
            unit = try bus.service(name)
        } catch {
            throw .unavailable("cannot observe \(name): \(error)")
        }
        switch unit.loadState {
        case "loaded": break
        case "not-found": throw .noInput("there is no \(name); 'systemctl list-units --type=service' lists services")
        default: throw .noInput("\(name) cannot be observed: systemd says that it is \(unit.loadState)")
        }
        guard let pid = unit.mainProcess else { return .stopped(unit) }
        if pid == known { return .unchanged(unit) }
        var process = try ObservedProcess(pid, owner: "by systemd, as \(unit.name)", copiers)
        // The open pidfd proves that the number still refers to this process.
        process.cgroup = directory(of: unit, with: pid)
        if process.cgroup == nil {
            guard (try? bus.service(name))?.mainProcess == pid else {
                throw .unavailable("process \(pid) of \(name) ended before it could be observed")
            }
        }
        return .found(process, unit)
    }

    /// The directory of a service's cgroup, if the main process is in it.
    private static func directory(of unit: ServiceUnit, with pid: Int32) -> String? {
        guard let cgroup = unit.cgroup, let own = ProcessFacts.cgroup(pid),
            own == cgroup || own.hasPrefix(cgroup + "/")
        else { return nil }
        return Cgroup.directory(of: cgroup)
    }

    /// The configuration that is known of an observed process, in place of a resolved launch.
    ///
    /// Probe commands run with watchdogd's own environment: the process chose its environment itself.
    package func configuration(
        _ spec: AppSpec, _ probe: ProbeSettings.Target?, store: ReportStore
    ) -> LaunchConfiguration {
        var configuration = LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: spec.onThisMachine), executable: executable, arguments: arguments,
            environment: Environment.inherited.forApp(variables: [], user: nil), workingDirectory: nil,
            credentials: nil, probe: nil, livenessTarget: probe, store: store)
        configuration.observed = ObservedDetails(
            user: user, parent: parent.pid, parentName: parent.name, owner: owner)
        configuration.version = imageVersion
        configuration.link = ProgramLink(of: name, arguments.map(\.description), file: executable)
        return configuration
    }

    private init(container text: String, _ copiers: Copiers) throws(RunError) {
        let container = try ContainerProcess(text)
        let id = container.id.prefix(12)
        let name = container.id.hasPrefix(text) ? "\(id)" : "\(text) (\(id))"
        try self.init(
            container.pid,
            owner: "in \(container.isVouchedFor ? "" : "a cgroup that claims to be ")container \(name)", copiers)
        let own = ProcessFacts.cgroup(container.pid).flatMap { ContainerProcess.container(container.id, in: $0) }
        guard own.map({ String($0.cgroup) }) == container.cgroup else {
            throw .unavailable("process \(container.pid) ended before it could be observed")
        }
        cgroup = Cgroup.directory(of: container.cgroup)
        if container.isVouchedFor { imageVersion = ContainerNames().imageVersion(of: container.id) }
    }

    private init(_ pid: Int32, owner: String, _ copiers: Copiers) throws(RunError) {
        let foreign = try ForeignProcess(pid)
        guard let stat = ProcessStat.read(pid), stat.startTime == foreign.startTime else {
            throw .noInput("process \(pid) ended before it could be observed")
        }
        process = foreign.pidfd
        startTime = foreign.startTime
        launched = .ofProcess(startedAt: stat.startTime)
        name = foreign.name
        executable = foreign.path
        user = ProcessStatus.read(pid)?.user ?? 0
        arguments = copiers.copying(for: Tenant(app: name, user: user)).arguments(of: pid, limit: 64 << 10)
        parent = (stat.parent, ProcessStat.read(stat.parent)?.name ?? "unknown")
        self.owner = owner
    }
}

extension ObservedProcess {
    /// Describes what is watched, how, and the consequence of a hang.
    package func words(_ name: String, _ probe: ProbeSettings?, _ unit: ServiceUnit?, restarts: Bool) -> String {
        let probe = probe.map { "probes \($0.probe.target) every \(TimeSpan.text($0.interval))" }
        let pushes = unit?.watchdogInterval.map { "expects WATCHDOG=1 every \(TimeSpan.text($0))" }
        let means = [probe, pushes].compactMap(\.self).joined(separator: ", ")
        let consequence = restarts ? "writes a crash log and restarts the service" : "writes a crash log"
        return "observing \(name), pid \(process.pid): \(means); after a hang, \(consequence)"
    }
}
