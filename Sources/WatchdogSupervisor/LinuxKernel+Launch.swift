// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogWire

/// The process whose end is the app's end, with what is read of it again and again.
struct MainProcess {
    let process: Pidfd
    let startTime: UInt64?
    /// Nil when it was gone before it could be looked at.
    var probe: ProcessProbe?
    let source: IOSource
    let launchedAt: Instant
    let launchTime: WatchdogReport.WallTime
}

extension LinuxKernel {
    /// The number under which the app finds its channel: the first after the standard streams.
    private static let channelDescriptor: Int32 = 3

    func spawn() throws -> Int32 {
        var request = SpawnRequest(
            executable: ByteString(configuration.executable),
            arguments: configuration.arguments,
            environment: environment
        )
        if let streams = configuration.streams { request.descriptors = streams.passed }
        configuration.attributes.apply(to: &request)
        OpenFileLimit.restore(in: &request)
        if configuration.takesCrashStacks, configuration.ownCoreLimit == nil, let limit = configuration.coreLimit {
            request.limits.append(limit)
        }
        request.processIdVariables = [Wire.Environment.watchdogProcess]
        if let appEnd { request.descriptors.append(.init(appEnd.number, as: Self.channelDescriptor)) }
        request.workingDirectory = configuration.workingDirectory.map { ByteString($0) }
        request.credentials = configuration.credentials
        request.session = terminal.map { .newProcessGroup(foregroundOf: $0.descriptor) } ?? .newSession
        request.cgroup = try? cgroup?.directory()
        if let scheduling = host.scheduling { request.withdraw(scheduling) }
        memoryKillNotes.launched(cgroup?.memoryKills, at: now)
        let log = configuration.streams.map(\.log) ?? StandardStreams.ownLog
        // Before: should watchdogd be killed while it starts the process, the next one can still talk to it.
        storeSockets()
        // Before: the program may print before it is known here that it runs.
        let launch = (now, WatchdogReport.WallTime.current())
        let spawned = try WatchdogLinux.spawn(request)
        host.launched()
        closeStreams()
        if let cgroup, request.cgroup != nil, spawned.cgroupRefusal == nil {
            containment = .cgroup(cgroup)
            if spawned.hasMoved { host.launchesAreSlow() }
        } else {
            if let refusal = spawned.cgroupRefusal { host.cgroupRefused(configuration.name, refusal) }
            let tree = ProcessTree(root: spawned.pid, startTime: spawned.startTime ?? 0, marker: launchMarker)
            containment = .processTree(tree)
        }
        try supervise(spawned.process, startTime: spawned.startTime, launched: launch)
        logSource = log.map { logSource(of: $0, process: spawned.pid) }
        storeProcess()
        return spawned.pid
    }

    /// An environment entry by which a process is known for the app's even when all its ancestors are gone.
    var launchMarker: String { "\(Self.launchVariable)=\(configuration.launchID)" }
    static let launchVariable = "WATCHDOG_LAUNCH_ID"

    private var environment: Environment {
        var environment = configuration.environment
        environment[Self.launchVariable] = configuration.launchID.description
        environment[Wire.Environment.notifySocket] = notifySocket.address
        environment[Wire.Environment.watchdogMicroseconds] =
            "\(configuration.spec.allowances.update.nanoseconds / 1_000)"
        if configuration.spec.lifecycle.launchesInBackground {
            environment[Wire.Environment.state] = Visibility.background.rawValue
        }
        environment[Wire.Environment.channel] = "\(Self.channelDescriptor)"
        return environment
    }

    /// Makes a process the main process: its end is the app's end from now on.
    ///
    /// - Parameter launch: when the app was launched, if this is its first main process.
    private func supervise(
        _ process: Pidfd, startTime: UInt64?, launched launch: (Instant, WatchdogReport.WallTime)
    ) throws {
        let source = try loop.onReady(process.descriptor, for: .readable, priority: .important) { [unowned self] _ in
            mainProcessEnded()
        }
        main?.source.cancel()
        if let previous = main?.process.pid { host.setOwner(of: previous, to: nil) }
        host.setOwner(of: process.pid, to: self)
        main = MainProcess(
            process: process,
            startTime: startTime,
            probe: try? ProcessProbe(process.pid),
            source: source,
            launchedAt: main?.launchedAt ?? launch.0,
            launchTime: main?.launchTime ?? launch.1
        )
        window = nil
        isReaped = false
    }

    func adoptMainProcess(_ pid: Int32) -> Bool {
        if pid == main?.process.pid { return true }
        // The pidfd first: what is checked afterwards is then checked of the process that it holds.
        guard let process = try? Pidfd(opening: pid), isOurs(pid), !process.hasExited else { return false }
        do {
            try supervise(process, startTime: ProcessStat.read(pid)?.startTime, launched: (now, .current()))
            beginWindow()
            storeProcess()
            return true
        } catch {
            return false
        }
    }

    private func isOurs(_ pid: Int32) -> Bool {
        switch containment {
        case .cgroup(let cgroup): cgroup.processes().contains(pid)
        case .processTree(let tree): tree.processes().contains(pid)
        case nil: false
        }
    }
}
