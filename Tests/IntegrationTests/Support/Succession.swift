// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

/// Successive `watchdogd serve` processes, under a stand-in for the service manager that keeps descriptors
/// (`FDSTORE=1`) and passes them to the next.
final class Succession: ServedDaemon {
    let scratch: Scratch
    private(set) var program: Program
    private let marker: String
    private let socket: NotifySocket
    private let runtime: RuntimeDirectory
    private var environment: Environment
    private let keepsDescriptors: Bool
    /// The service manager's descriptors, by name.
    private(set) var store: [(name: String, descriptor: OwnedDescriptor)] = []
    private(set) var isReady = false
    /// The statuses that watchdogd has sent.
    private(set) var statuses: [String] = []
    /// The output of all watchdogd processes that have exited.
    private(set) var said = ""

    /// - Parameters:
    ///   - apps: the contents of files, by the names of the apps.
    ///   - keepsDescriptors: whether there is a service manager at all.
    init(_ apps: [String: String], keepsDescriptors: Bool = true, binary: String = product("watchdogd")) throws {
        scratch = try Scratch()
        self.keepsDescriptors = keepsDescriptors
        marker = "WATCHDOGD_TEST=\(UInt64.random(in: 0 ... .max))"
        runtime = try RuntimeDirectory.lasting("test-\(getpid())-\(UInt32.random(in: 0 ... .max))")
        socket = try NotifySocket(in: runtime, name: "manager")
        environment = testEnvironment()
        environment["HOME"] = scratch.path
        environment["TMPDIR"] = scratch.path
        environment["XDG_RUNTIME_DIR"] = try scratch.makeDirectory("runtime", mode: 0o700)
        environment["WATCHDOGD_TEST"] = String(marker.dropFirst("WATCHDOGD_TEST=".count))
        if keepsDescriptors { environment["NOTIFY_SOCKET"] = socket.address }
        _ = try scratch.makeDirectory("apps")
        for (name, text) in apps { try scratch.write(text, to: "apps/\(name).app") }
        program = try Self.start(binary, scratch, environment, [])
        try awaitReadiness()
    }

    deinit {
        if program.status == nil { try? program.send(SIGKILL) }
        Leftovers.end(marked: marker, cgroup: cgroup.flatMap { access($0, F_OK) == 0 ? $0 : nil })
        // Root's daemons keep their state there; the rest is in the scratch directory.
        try? FileManager.default.removeItem(atPath: "/run/watchdogd/\(serviceName)")
        runtime.remove()
    }

    /// Derived from the path of its control socket.
    private var serviceName: String { "serve-" + String(FNV1a.hash(of: scratch["control"]), radix: 16) }
    private var cgroup: String? { Leftovers.ownCgroup.map { "\($0)/watchdogd-\(serviceName)" } }

    private static func start(
        _ binary: String, _ scratch: Scratch, _ environment: Environment,
        _ passed: [(name: String, descriptor: OwnedDescriptor)]
    ) throws -> Program {
        try Program(
            [
                binary, "serve", "--user", "--verbose", "--config", scratch["apps"], "--control", scratch["control"],
                "--reports", scratch["reports"],
            ], environment: environment, directory: scratch.path, passed: passed)
    }

    // MARK: - The service manager

    /// Handles the messages that watchdogd has sent to the service manager.
    func pump() throws {
        while let (message, descriptors) = try socket.receiveAll() {
            var fields: [Substring: Substring] = [:]
            for line in String(decoding: message.bytes, as: UTF8.self).split(separator: "\n") {
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2 { fields[parts[0]] = parts[1] }
            }
            if fields["READY"] == "1" { isReady = true }
            if let status = fields["STATUS"] { statuses.append(String(status)) }
            guard let name = fields["FDNAME"].map(String.init) else { continue }
            if fields["FDSTORE"] == "1" {
                for descriptor in descriptors { keep(descriptor, as: name) }
            }
            if fields["FDSTOREREMOVE"] == "1" { store.removeAll { $0.name == name } }
        }
    }

    /// Stores a descriptor, unless the same file is already stored, like systemd: sd_pid_notify_with_fds(3).
    private func keep(_ descriptor: OwnedDescriptor, as name: String) {
        let identity = Self.identity(of: descriptor)
        let isKept = store.contains { $0.name == name && Self.identity(of: $0.descriptor) == identity }
        if !isKept, store.count < Self.storeLimit { store.append((name, descriptor)) }
    }

    /// `FileDescriptorStoreMax=`: a launcher passes 253 descriptors at most.
    private static let storeLimit = 240

    private static func identity(of descriptor: OwnedDescriptor) -> [UInt64] {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { return [] }
        return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }

    private func awaitReadiness() throws {
        let isThere = try eventually {
            try pump()
            guard !program.hasEnded else { return true }
            return keepsDescriptors ? isReady : (try? client.list()) != nil
        }
        guard isThere, !program.hasEnded else { throw Failure("watchdogd did not start\n\(program.text(.errors))") }
    }

    /// Kills watchdogd, and waits for its exit.
    func killDaemon(_ signal: Int32 = SIGKILL) throws {
        try program.send(signal)
        try awaitEnd()
    }

    /// Waits for the exit of a watchdogd that is killed.
    func awaitEnd() throws {
        try program.end()
        said += program.text(.errors)
        try pump()
    }

    func succeed(_ binary: String = product("watchdogd")) throws {
        isReady = false
        program = try Self.start(binary, scratch, environment, store)
        try awaitReadiness()
    }

    /// Makes it execute its program again, and waits until that serves.
    func reexecute() throws {
        try pump()
        isReady = false
        try program.send(SIGUSR2)
        try awaitReadiness()
    }

    /// The saved state of apps and launches.
    var stateFiles: [String] {
        names(in: scratch["runtime/watchdogd"]).flatMap { names(in: scratch["runtime/watchdogd/\($0)"]) }
            .filter { $0.hasSuffix(".app") || $0.hasSuffix(".launch") }
    }

    /// Makes the state of all launches unreadable, while no watchdogd runs.
    func damageState(isNewer: Bool) throws {
        for directory in names(in: "/run/watchdogd").map({ "/run/watchdogd/\($0)" })
            + names(in: scratch["runtime/watchdogd"]).map({ scratch["runtime/watchdogd/\($0)"] })
        {
            for name in names(in: directory) where store.contains(where: { "\($0.name).launch" == name }) {
                let file = try OwnedDescriptor(opening: "\(directory)/\(name)", flags: O_RDWR)
                // The version of the format, or the beginning of both checkpoints.
                let bytes: [UInt8] = isNewer ? [99, 0, 0, 0] : [0]
                pwrite(file.number, bytes, bytes.count, 12)
                if !isNewer { ftruncate(file.number, 8192) }
            }
        }
    }

    /// Drops the stored descriptors, as on a machine without a service manager.
    func loseDescriptors() { store = [] }

    // MARK: - Observations

    @discardableResult
    func wait(
        for name: String, within limit: Duration = patience, _ condition: (AppSummary) -> Bool
    ) throws -> AppSummary {
        var latest: AppSummary?
        let isMet = try eventually(within: limit) {
            try pump()
            latest = try app(name)
            return latest.map(condition) ?? false
        }
        guard isMet, let latest else {
            throw Failure("\(name) did not come there: \(String(describing: latest))\n\(said)\(program.text(.errors))")
        }
        return latest
    }

    /// The apps' living processes.
    var processes: [Int32] { Leftovers.programs(marked: marker) }

    /// An app's log.
    func log(_ app: String) -> [Entry] {
        (scratch.read("\(app).log") ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 3, let seconds = Double(words[0]), let pid = Int32(words[1]) else { return nil }
            return Entry(
                at: Instant(nanoseconds: Int64(seconds * 1e9)), pid: pid, what: String(words[2]))
        }
    }

    struct Entry {
        let at: Instant
        let pid: Int32
        let what: String
    }

    /// Asks it to exit, and checks that nothing is left.
    func end(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try program.send(SIGTERM)
        _ = try eventually {
            try pump()
            return program.hasEnded
        }
        let status = try program.end()
        #expect(status.code == 0, sourceLocation: sourceLocation)
        let isAlone = eventually { processes.isEmpty }
        #expect(isAlone, "processes survive: \(Leftovers.describe(processes))", sourceLocation: sourceLocation)
        try pump()
        #expect(store.isEmpty, "nothing stays in the store", sourceLocation: sourceLocation)
        #expect(!scratch.exists("control"), sourceLocation: sourceLocation)
        if let cgroup { #expect(access(cgroup, F_OK) != 0, "no cgroup stays", sourceLocation: sourceLocation) }
    }

    /// The configuration of an app that logs its events.
    func survivor(_ name: String, _ rest: String = "") -> String { Self.survivor(scratch[name], rest) }

    static func survivor(_ path: String, _ rest: String = "") -> String {
        "[App]\nExecStart=/usr/bin/python3 \(quoted("\(subjects)/survivor.py")) \(path).log\n"
            + "[Watchdog]\nPing=100ms\n\(rest)"
    }

    /// Adds apps, and launches them.
    func add(_ apps: [String: String]) throws {
        for (name, text) in apps { try scratch.write(text, to: "apps/\(name).app") }
        _ = try client.reload()
        for name in apps.keys { try wait(for: name) { $0.state == .running } }
    }
}
