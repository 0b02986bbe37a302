// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
public import WatchdogLaunch
import WatchdogLinux

/// The first process of a container that runs on this machine.
public struct ContainerProcess: Hashable, Sendable {
    /// The process ID on the host.
    public let pid: Int32
    /// The cgroup of the container.
    package let cgroup: String
    /// The ID of the container.
    package let id: String
    /// Whether the engine's files vouch for the container; otherwise, any user may have created a cgroup with such a
    /// name.
    let isVouchedFor: Bool

    /// The warning about a container that no engine vouches for; nil for others.
    public var claim: String? {
        isVouchedFor
            ? nil
            : "the cgroup of process \(pid) claims to be container \(id.prefix(12)), but no file of root's says so"
    }

    /// Finds the process; blocks on the disk.
    ///
    /// - Parameter text: a container's ID, at least twelve digits of it, or its name.
    /// - Throws: ``RunError`` (EX_NOINPUT) if there is no such container, and EX_USAGE if there are several.
    public init(_ text: String) throws(RunError) {
        let known = ProcessFacts.all.compactMap { pid in ProcessFacts.cgroup(pid).map { (pid: pid, cgroup: $0) } }
        let names = ContainerNames()
        if ObservedTarget.isContainerID(text), let found = try Self.find(text, among: known, names) {
            self = found
            return
        }
        let answer = names.find(text)
        // Names that only root can have written take precedence over others.
        for (ids, isTrusted) in [(answer.ids, true), (answer.claimedIDs, false)] {
            var running: [ContainerProcess] = []
            for id in ids.sorted() {
                if let found = try Self.find(id, among: known, names, isNamedByRoot: isTrusted) {
                    running.append(found)
                }
            }
            guard running.count <= 1 else {
                let ids = running.map { $0.id.prefix(12) }.joined(separator: ", ")
                throw .usage("several containers are named \(text): \(ids); use an ID")
            }
            if let found = running.first {
                self = found
                return
            }
        }
        throw .noInput(Self.absence(of: text, answer))
    }

    private init(pid: Int32, cgroup: String, id: String, isVouchedFor: Bool) {
        self.pid = pid
        self.cgroup = cgroup
        self.id = id
        self.isVouchedFor = isVouchedFor
    }

    /// The error text for a container that was not found.
    private static func absence(of text: String, _ answer: ContainerNames.Answer) -> String {
        let hint = "'podman ps' and 'docker ps' print IDs"
        if ObservedTarget.isContainerID(text) { return "no container with the ID or name \(text) runs here; \(hint)" }
        guard answer.ids.isEmpty, answer.claimedIDs.isEmpty else { return "the container \(text) is not running" }
        return "no container named \(text) runs here; looked in \(answer.places.joined(separator: ", ")); \(hint)"
    }

    /// The cgroup of the container within that of a process, and the container's ID.
    ///
    /// libpod-ID.scope, docker-ID.scope, cri-containerd-ID.scope, or a folder named ID.
    package static func container(_ prefix: String, in cgroup: String) -> (cgroup: Substring, id: Substring)? {
        for part in cgroup.split(separator: "/") {
            let name = part.hasSuffix(".scope") ? part.dropLast(".scope".count) : part
            // Skip the container's monitor, which has its own cgroup beside the container's.
            guard !name.hasPrefix("libpod-conmon-"), !name.hasPrefix("crio-conmon-") else { continue }
            let number = name.split(separator: "-").last ?? name
            if number.hasPrefix(prefix), number.utf8.count == 64 { return (cgroup[..<part.endIndex], number) }
        }
        return nil
    }

    /// - Parameter isNamedByRoot: whether the ID is from a file that only root can have written.
    private static func find(
        _ prefix: String, among known: [(pid: Int32, cgroup: String)], _ names: ContainerNames,
        isNamedByRoot: Bool = true
    ) throws(RunError) -> ContainerProcess? {
        let members = known.compactMap { process in
            container(prefix, in: process.cgroup).map { (pid: process.pid, cgroup: $0.cgroup, id: $0.id) }
        }
        let all = Dictionary(members.map { ($0.cgroup, String($0.id)) }, uniquingKeysWith: { first, _ in first })
        let vouched = all.filter {
            isNamedByRoot && isTrusted(String($0.key), Cgroup.directory(of: String($0.key)))
                && names.haveRecord(of: $0.value)
        }
        // A cgroup name that any user can choose must not hide a real container.
        let candidates = vouched.isEmpty ? all : vouched
        guard candidates.count <= 1 else {
            throw .usage("several containers begin with \(prefix); use more of the ID")
        }
        guard let (cgroup, id) = candidates.first else { return nil }
        // The parent of a container's first process is outside the container: the runtime or its monitor.
        let pids = Set(members.lazy.filter { $0.cgroup == cgroup }.map(\.pid))
        let first = pids.sorted().first { pid in ProcessStat.read(pid).map { !pids.contains($0.parent) } ?? false }
        return first.map {
            ContainerProcess(pid: $0, cgroup: String(cgroup), id: id, isVouchedFor: !vouched.isEmpty)
        }
    }

    /// Whether only root, or this user, can have made a cgroup.
    ///
    /// Other users choose names freely in a subtree that was delegated to them, and so does a container's root below
    /// the container's cgroup.
    static func isTrusted(_ cgroup: String, _ directory: String?) -> Bool {
        let outer = cgroup.split(separator: "/").dropLast().joined(separator: "/")
        guard container("", in: outer) == nil, let directory else { return false }
        return GuardedPath.isTrusted(folder: directory)
    }
}
