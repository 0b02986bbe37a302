// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// What an app has run besides its program, one command of a kind after the other.
enum CommandKind: String, CaseIterable {
    /// What comes before it, or tells whether it is ready.
    case command
    /// What tells whether it lives.
    case probe

    /// The name of the cgroup of all commands of this kind of a launch; no app is called so.
    func cgroupName(_ launchID: IncidentID) -> String { "\(rawValue):\(launchID)" }

    /// Whether a cgroup has such a name, or one that was made from it because it was taken.
    static func isCgroupName(_ name: String) -> Bool {
        allCases.contains { kind in
            guard name.hasPrefix("\(kind.rawValue):") else { return false }
            return IncidentID(String(name.dropFirst(kind.rawValue.count + 1).prefix(36))) != nil
        }
    }
}

extension LinuxKernel {
    /// Starts a command in a cgroup that nothing else is in, so that nothing of it outlives its time.
    func start(
        _ request: SpawnRequest, _ kind: CommandKind, for limit: Duration?, onEnd: @escaping (ExitStatus) -> Void
    ) throws -> ProbeProcess {
        var request = request
        if let scheduling = host.scheduling { request.withdraw(scheduling) }
        removeSpentCgroups()
        let cgroup =
            commandCgroups[kind] ?? host.makeCgroup(for: kind.cgroupName(configuration.launchID)).cgroup
        commandCgroups[kind] = cgroup
        return try ProbeProcess(request, in: cgroup, on: loop, limit: limit, onEnd: onEnd)
    }

    /// A command has ended.
    func release(_ process: ProbeProcess, _ kind: CommandKind) {
        guard process.isCgroupSpent, let cgroup = commandCgroups.removeValue(forKey: kind) else { return }
        spentCgroups.append(cgroup)
    }

    func removeSpentCgroups() {
        spentCgroups.removeAll { (try? $0.remove()) != nil }
    }

    /// Ends all commands.
    func stopCommands() {
        cancelCommand()
        cancelLivenessProbe()
        // Busy while something in it dies.
        host.spentCgroups += (commandCgroups.values + spentCgroups).filter { (try? $0.remove()) == nil }
        (commandCgroups, spentCgroups) = ([:], [])
    }

    /// Those that would run on for ever if watchdogd were killed now.
    var runningCommands: [KeptCommand] { [probeProcess, livenessCommand].compactMap { $0?.kept } }

    /// Where there is no cgroup by whose name the next watchdogd finds a command, its id has to be kept.
    func keepCommands() {
        guard commandCgroups.isEmpty, let keeper else { return }
        keeper.setDirty()
        supervisor?.settle()
    }
}

extension Host {
    /// Ends the commands of the watchdogd before this one: they are begun anew, and nobody waits for these.
    ///
    /// - Parameter launches: launches of which the state is known, which may be elsewhere.
    func endCommands(of launches: [InheritedLaunch]) {
        var places = Set(launches.compactMap { $0.state.cgroup?.parentDirectory })
        if let cgroupParent { places.insert(cgroupParent.path) }
        for cgroup in places.flatMap({ Cgroup.all(in: $0, where: CommandKind.isCgroupName) }) {
            try? cgroup.kill()
            spentCgroups.append(cgroup)
        }
        for command in launches.flatMap({ $0.state.commands ?? [] }) { command.end() }
    }
}

extension String {
    fileprivate var parentDirectory: String? {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(self[..<$0]) }
    }
}
