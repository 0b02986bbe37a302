// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogBase
import WatchdogLinux

/// Finds containers of this machine by name, in the engines' files and their monitors' command lines.
///
/// It runs no engine's client: that would hang with the engine, and run with watchdogd's rights.
struct ContainerNames {
    /// A process that may be a container's monitor.
    struct Process {
        let name: String
        let user: UInt32
        let arguments: [String]
    }

    /// The matching containers, and the places that were searched.
    struct Answer: Equatable {
        var ids: Set<String> = []
        /// The IDs from files that users other than root could have written.
        var claimedIDs: Set<String> = []
        /// The searched places, such as "/var/lib/docker/containers (permission denied)".
        var places: [String] = []

        mutating func insert(_ id: String, isTrusted: Bool = true) {
            _ = isTrusted ? ids.insert(id) : claimedIDs.insert(id)
        }
    }

    let files: EngineFiles
    private let processes: () -> [Process]

    /// - Parameter root: the folder that is prepended to all paths; empty except in tests.
    init(
        root: String = "", user: UInt32 = geteuid(), processes: @escaping () -> [Process] = ContainerNames.monitors
    ) {
        files = EngineFiles(root: root, user: user)
        self.processes = processes
    }

    /// The processes that look like podman's monitors; any process can call itself conmon.
    private var monitors: [Process] {
        processes().filter { $0.name == "conmon" && ($0.user == 0 || $0.user == files.user) }
    }

    private static func id(of monitor: Process) -> String? {
        value(of: ["-c", "--cid"], in: monitor.arguments).flatMap { isID($0) ? $0 : nil }
    }

    /// Whether an engine vouches for a container.
    ///
    /// Only root needs this: see ``EngineFiles``.
    func haveRecord(of id: String) -> Bool {
        files.user != 0 || files.haveRecord(of: id) || monitors.contains { Self.id(of: $0) == id }
    }

    /// The IDs of the containers with a name, as their engines show it; on Kubernetes, `CONTAINER`, `POD/CONTAINER` or
    /// `NAMESPACE/POD/CONTAINER`.
    func find(_ name: String) -> Answer {
        var answer = Answer()
        answer.places.append("the command lines of podman's monitors (conmon)")
        for process in monitors where Self.value(of: ["-n", "--name"], in: process.arguments) == name {
            if let id = Self.id(of: process) { answer.insert(id) }
        }
        visit("/var/lib/docker/containers", &answer) { folder, id in
            guard Self.isID(id), let file = files.read("\(folder)/\(id)/config.v2.json"),
                Self.dockerName(file.value) == name
            else { return nil }
            return (id, file.isTrusted)
        }
        visit("/var/log/containers", &answer) { _, file in
            guard let (path, id) = Self.kubernetes(file) else { return nil }
            return (1...3).contains { path.suffix($0).joined(separator: "/") == name } ? (id, true) : nil
        }
        // nerdctl has one folder for each containerd, which contains one for each namespace.
        for store in files.entries("/var/lib/nerdctl")?.value ?? [] where !name.contains("/") {
            for namespace in files.entries("/var/lib/nerdctl/\(store)/names")?.value ?? [] {
                guard let file = files.read("/var/lib/nerdctl/\(store)/names/\(namespace)/\(name)") else { continue }
                let id = String(decoding: file.value, as: UTF8.self).filter { !$0.isWhitespace }
                if Self.isID(id) { answer.insert(id, isTrusted: file.isTrusted) }
            }
        }
        return answer
    }

    // MARK: - Names

    /// The value of `-n VALUE`, `--name VALUE` or `--name=VALUE`.
    private static func value(of names: [String], in arguments: [String]) -> String? {
        for (index, argument) in arguments.enumerated() {
            if names.contains(argument), index + 1 < arguments.count { return arguments[index + 1] }
            if let name = names.first(where: { $0.hasPrefix("--") && argument.hasPrefix("\($0)=") }) {
                return String(argument.dropFirst(name.count + 1))
            }
        }
        return nil
    }

    /// Docker writes `/web`.
    private static func dockerName(_ file: [UInt8]) -> String? {
        struct Container: Decodable {
            let name: String

            enum CodingKeys: String, CodingKey { case name = "Name" }
        }
        guard let container = try? JSONDecoder().decode(Container.self, from: Data(file)) else { return nil }
        return container.name.hasPrefix("/") ? String(container.name.dropFirst()) : container.name
    }

    /// Namespace, pod and container of `POD_NAMESPACE_CONTAINER-ID.log`, which the kubelet creates.
    private static func kubernetes(_ file: String) -> (path: [String], id: String)? {
        guard file.hasSuffix(".log") else { return nil }
        let stem = file.dropLast(".log".count)
        guard let dash = stem.lastIndex(of: "-") else { return nil }
        let id = String(stem[stem.index(after: dash)...])
        let parts = stem[..<dash].split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        return parts.count == 3 && isID(id) ? ([parts[1], parts[0], parts[2]], id) : nil
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    // MARK: - Files

    /// Adds the IDs that `body` finds in a folder, and the folder to the places if it exists.
    private func visit(
        _ folder: String, _ answer: inout Answer,
        _ body: (_ folder: String, String) -> (id: String, isTrusted: Bool)?
    ) {
        guard let names = files.entries(folder) else {
            if errno == EACCES { answer.places.append("\(folder) (permission denied)") }
            return
        }
        answer.places.append(folder)
        for name in names.value {
            if let found = body(folder, name) {
                answer.insert(found.id, isTrusted: names.isTrusted && found.isTrusted)
            }
        }
    }

    /// The processes with the name of podman's monitor.
    private static func monitors() -> [Process] {
        ProcessFacts.all.compactMap { pid in
            guard let name = ProcessStat.read(pid)?.name, name == "conmon",
                // Compare the executable, too: through a link, another program, even a set-user-ID one, can get this
                // name.
                ProcessFacts.executable(pid)?.split(separator: "/").last?.hasPrefix("conmon") == true,
                // Reading the command line reads the process's memory, which can block forever, so read only trusted
                // users' processes.
                let user = ProcessStatus.read(pid)?.user, user == 0 || user == geteuid()
            else { return nil }
            let arguments = ProcessFacts.arguments(pid, limit: 64 << 10).map(\.description)
            return Process(name: name, user: user, arguments: arguments)
        }
    }
}
