// SPDX-License-Identifier: Apache-2.0

package import WatchdogLinux
import WatchdogReport

/// What an app runs besides its program; at most one command of each kind at a time.
package enum CommandKind: String, CaseIterable {
    /// Preparations, which run before the program, and readiness probes.
    case command
    /// Liveness probes.
    case probe
    /// A command for incidents; it belongs to no launch.
    case hook

    /// The name of the cgroup for all commands of this kind of a launch; no app can have such a name.
    func cgroupName(_ launchID: IncidentID) -> String { "\(rawValue):\(launchID)" }

    /// Whether a cgroup has such a name, or a variant that was used because the name was taken.
    static func isCgroupName(_ name: String) -> Bool {
        allCases.contains { kind in
            guard name.hasPrefix("\(kind.rawValue):") else { return false }
            return IncidentID(String(name.dropFirst(kind.rawValue.count + 1).prefix(36))) != nil
        }
    }
}

/// The cgroups for the commands of one launch, which ensure that nothing of a command outlives its time.
///
/// Isolation: the loop's thread.
package final class CommandCgroups {
    private let host: Host
    private let launchID: IncidentID
    private var current: [CommandKind: Cgroup] = [:]
    /// Cgroups that were killed, until they are empty.
    private var spent: [Cgroup] = []

    init(_ host: Host, _ launchID: IncidentID) {
        self.host = host
        self.launchID = launchID
    }

    /// Whether the next watchdogd cannot find any command by the name of its cgroup.
    package var isEmpty: Bool { current.isEmpty }

    /// The cgroup for the next command of a kind; nil if cgroups cannot be created.
    package func cgroup(for kind: CommandKind) -> Cgroup? {
        removeSpent()
        let cgroup = current[kind] ?? host.makeCgroup(for: kind.cgroupName(launchID)).cgroup
        current[kind] = cgroup
        return cgroup
    }

    /// Retires the killed cgroup of this kind; the next command gets a new one.
    func spend(_ kind: CommandKind) {
        if let cgroup = current.removeValue(forKey: kind) { spent.append(cgroup) }
    }

    /// Removes this cgroup as soon as it is empty.
    func spend(_ cgroup: Cgroup) { spent.append(cgroup) }

    func removeSpent() { spent.removeAll { (try? $0.remove()) != nil } }

    /// Removes all of them; the host removes those that are not empty yet.
    package func stop() {
        host.spentCgroups += (current.values + spent).filter { (try? $0.remove()) == nil }
        (current, spent) = ([:], [])
    }
}

extension Host {
    /// Kills the commands of the previous watchdogd, which nobody waits for; they are started again.
    ///
    /// - Parameter launches: launches whose state is known; their cgroups may be in other places.
    package func endCommands(of launches: [InheritedLaunch]) {
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
