// SPDX-License-Identifier: Apache-2.0

import WatchdogConfiguration
import WatchdogLinux

/// The first process of a container that runs on this machine.
public struct ContainerProcess: Hashable, Sendable {
    /// Its ID on the host.
    public let pid: Int32
    /// The cgroup of the container.
    let cgroup: String
    /// The ID of the container.
    let id: String

    /// Finds the process; may wait for the disk.
    ///
    /// - Parameter text: a container's ID, at least twelve digits of it, or its name.
    /// - Throws: ``RunError`` (EX_NOINPUT) if there is no such container, and EX_USAGE if there are several.
    public init(_ text: String) throws(RunError) {
        let known = ProcessFacts.all.compactMap { pid in ProcessFacts.cgroup(pid).map { (pid: pid, cgroup: $0) } }
        if ObservedTarget.isContainerID(text), let found = try Self.find(text, among: known) {
            self = found
            return
        }
        let answer = ContainerNames().find(text)
        var running: [ContainerProcess] = []
        for id in answer.ids.sorted() { if let found = try Self.find(id, among: known) { running.append(found) } }
        guard running.count <= 1 else {
            let ids = running.map { $0.id.prefix(12) }.joined(separator: ", ")
            throw .usage("several containers are named \(text): \(ids); use an ID")
        }
        guard let found = running.first else {
            throw .noInput(Self.absence(of: text, answer))
        }
        self = found
    }

    private init(pid: Int32, cgroup: String, id: String) {
        self.pid = pid
        self.cgroup = cgroup
        self.id = id
    }

    /// Why there is no such container here.
    private static func absence(of text: String, _ answer: ContainerNames.Answer) -> String {
        let hint = "'podman ps' and 'docker ps' print IDs"
        if ObservedTarget.isContainerID(text) { return "no container with the ID or name \(text) runs here; \(hint)" }
        guard answer.ids.isEmpty else { return "the container \(text) is not running" }
        return "no container named \(text) runs here; looked in \(answer.places.joined(separator: ", ")); \(hint)"
    }

    /// The cgroup of the container within that of a process, and the container's ID.
    ///
    /// libpod-ID.scope, docker-ID.scope, cri-containerd-ID.scope, or a folder named ID.
    static func container(_ prefix: String, in cgroup: String) -> (cgroup: Substring, id: Substring)? {
        for part in cgroup.split(separator: "/") {
            let name = part.hasSuffix(".scope") ? part.dropLast(".scope".count) : part
            // The monitor of a container has a cgroup of its own beside the container's.
            guard !name.hasPrefix("libpod-conmon-"), !name.hasPrefix("crio-conmon-") else { continue }
            let number = name.split(separator: "-").last ?? name
            if number.hasPrefix(prefix), number.utf8.count == 64 { return (cgroup[..<part.endIndex], number) }
        }
        return nil
    }

    private static func find(
        _ prefix: String, among known: [(pid: Int32, cgroup: String)]
    ) throws(RunError) -> ContainerProcess? {
        let members = known.compactMap { process in
            container(prefix, in: process.cgroup).map { (pid: process.pid, cgroup: $0.cgroup, id: $0.id) }
        }
        guard Set(members.map(\.cgroup)).count <= 1 else {
            throw .usage("several containers begin with \(prefix); use more of the ID")
        }
        // The first process of a container is the one whose parent is outside: the runtime or its monitor.
        let pids = Set(members.map(\.pid))
        let first = members.first { member in
            ProcessStat.read(member.pid).map { !pids.contains($0.parent) } ?? false
        }
        return first.map { ContainerProcess(pid: $0.pid, cgroup: String($0.cgroup), id: String($0.id)) }
    }
}
