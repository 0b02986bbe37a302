// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogConfiguration
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

/// What reports say about a process that someone else started.
struct ObservedDetails: Hashable, Sendable {
    var user: UInt32
    var parent: Int32
    var parentName: String
    /// Who started it.
    var owner: String
}

/// A running process that someone else started, and what reports say of it.
struct ObservedProcess: Sendable {
    /// What a look for a target's process found.
    enum Finding: Sendable {
        case found(ObservedProcess, ServiceUnit?)
        /// The service still has the known main process.
        case unchanged(ServiceUnit)
        /// The service exists and has no main process.
        case stopped(ServiceUnit)
        case failed(RunError)
    }

    let process: Pidfd
    let startTime: UInt64
    /// When it was started, on both clocks.
    let launched: LaunchMoment
    /// The kernel's name for the process.
    let name: String
    let executable: String
    let arguments: [ByteString]
    let user: UInt32
    let parent: (pid: Int32, name: String)
    /// The directory of the cgroup that holds the service or container; nil if only descendants can be attributed.
    private(set) var cgroup: String?
    /// Who started it, as in "runs as *nginx.service of systemd*".
    let owner: String

    /// Looks for the process of a target.
    ///
    /// It may wait for systemd and for the process, so it does not belong on a loop.
    ///
    /// - Parameter known: the main process of a service as far as it is known.
    static func find(_ target: ObservedTarget, on bus: ServiceBus, known: Int32?) -> Finding {
        do throws(RunError) {
            switch target {
            case .process(let pid): return .found(try ObservedProcess(pid, owner: "by someone else"), nil)
            case .container(let id): return .found(try ObservedProcess(container: id), nil)
            case .service(let name): return try find(service: name, on: bus, known: known)
            }
        } catch {
            return .failed(error)
        }
    }

    private static func find(
        service name: String, on bus: ServiceBus, known: Int32?
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
        var process = try ObservedProcess(pid, owner: "by systemd, as \(unit.name)")
        // It is held: what is true of its number now is true of it.
        process.cgroup = directory(of: unit, with: pid)
        if process.cgroup == nil {
            guard (try? bus.service(name))?.mainProcess == pid else {
                throw .unavailable("process \(pid) of \(name) ended before it could be observed")
            }
        }
        return .found(process, unit)
    }

    /// The directory of a service's cgroup, if the main process really is in it.
    private static func directory(of unit: ServiceUnit, with pid: Int32) -> String? {
        guard let cgroup = unit.cgroup, let own = ProcessFacts.cgroup(pid),
            own == cgroup || own.hasPrefix(cgroup + "/")
        else { return nil }
        return Cgroup.directory(of: cgroup)
    }

    /// What is known of it, in the place of what a launch would have resolved.
    ///
    /// Probe commands run with watchdogd's own environment: the process chose its environment itself.
    func configuration(
        _ spec: AppSpec, _ probe: ProbeSettings.Target?, store: ReportStore
    ) -> LaunchConfiguration {
        var configuration = LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: spec.onThisMachine), executable: executable, arguments: arguments,
            environment: Environment.inherited.forApp(variables: [], user: nil), workingDirectory: nil,
            credentials: nil, probe: nil, livenessTarget: probe, store: store)
        configuration.observed = ObservedDetails(
            user: user, parent: parent.pid, parentName: parent.name, owner: owner)
        return configuration
    }

    private init(container id: String) throws(RunError) {
        // libpod-ID.scope, docker-ID.scope, cri-containerd-ID.scope, or a folder named ID.
        func holds(_ cgroup: String) -> Substring? {
            for part in cgroup.split(separator: "/") {
                let name = part.hasSuffix(".scope") ? part.dropLast(".scope".count) : part
                let number = name.split(separator: "-").last ?? name
                if number.hasPrefix(id), number.utf8.count == 64 { return cgroup[..<part.endIndex] }
            }
            return nil
        }
        let members = ProcessFacts.all.compactMap { pid in
            ProcessFacts.cgroup(pid).flatMap(holds).map { (pid: pid, cgroup: $0) }
        }
        guard Set(members.map(\.cgroup)).count <= 1 else {
            throw .usage("several containers begin with \(id); use more of the ID")
        }
        // The first process of a container is the one whose parent is outside: the runtime or its monitor.
        let pids = Set(members.map(\.pid))
        let first = members.first { member in
            ProcessStat.read(member.pid).map { !pids.contains($0.parent) } ?? false
        }
        guard let first else {
            throw .noInput(
                "no container with the ID \(id) runs here; 'podman ps' and 'docker ps' print IDs")
        }
        try self.init(first.pid, owner: "in container \(id.prefix(12))")
        guard ProcessFacts.cgroup(first.pid).flatMap(holds) == first.cgroup else {
            throw .unavailable("process \(first.pid) ended before it could be observed")
        }
        cgroup = Cgroup.directory(of: String(first.cgroup))
    }

    private init(_ pid: Int32, owner: String) throws(RunError) {
        let foreign = try ForeignProcess(pid)
        guard let stat = ProcessStat.read(pid), stat.startTime == foreign.startTime else {
            throw .noInput("process \(pid) ended before it could be observed")
        }
        process = foreign.pidfd
        startTime = foreign.startTime
        launched = .ofProcess(startedAt: stat.startTime)
        name = foreign.name
        executable = foreign.path
        arguments = ProcessFacts.arguments(pid, limit: 64 << 10)
        user = ProcessStatus.read(pid)?.user ?? 0
        parent = (stat.parent, ProcessStat.read(stat.parent)?.name ?? "unknown")
        self.owner = owner
    }
}
