// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A cgroup2 cgroup that contains one app and everything it starts.
///
/// Isolation: immutable except for the kernel's state; may be shared between threads.
public final class Cgroup: Sendable {
    /// The cgroup's directory.
    public let path: String
    /// The kernel's name for the cgroup, as in `/proc/PID/cgroup`; nil if its mount is unknown.
    private let mounted: String?

    private static let mounts = CgroupMount.all().filter(\.isUnified)

    /// Becomes ``IOSource/Readiness/exceptional`` when the cgroup gains its first process, loses its last one, or is
    /// frozen or thawed.
    ///
    /// Each access opens the file; the state stays until it is read.
    public var events: OwnedDescriptor? { try? openEvents() }

    /// Writing "1" kills everything in the cgroup; nil before Linux 5.14.
    ///
    /// Each access opens the file. Open it in advance for a thread that must not open files later.
    public var killDescriptor: OwnedDescriptor? {
        try? OwnedDescriptor(opening: "\(path)/cgroup.kill", flags: O_WRONLY)
    }

    /// Opens a cgroup by its directory, for example one whose app outlived a restart of the supervisor.
    public convenience init(opening path: String) throws(LinuxError) {
        self.init(created: path)
        _ = try openEvents()
    }

    /// A cgroup that was just created.
    init(created path: String) {
        self.path = path.withoutSpareRoom
        mounted = Self.mounts.lazy.compactMap { $0.cgroup(at: path) }.first
    }

    private func openEvents() throws(LinuxError) -> OwnedDescriptor {
        try OwnedDescriptor(opening: "\(path)/cgroup.events", flags: O_RDONLY)
    }

    /// The directory of a cgroup; nil if it is not mounted here.
    ///
    /// - Parameter path: as in `/proc/PID/cgroup`.
    public static func directory(of path: String) -> String? {
        mounts.lazy.compactMap { $0.directory(of: path) }.first
    }

    /// The cgroups in a directory whose names match, regardless of who created them.
    public static func all(in directory: String, where isMeant: (String) -> Bool) -> [Cgroup] {
        subdirectories(directory).filter(isMeant).compactMap { try? Cgroup(opening: "\(directory)/\($0)") }
    }

    /// For ``SpawnRequest/cgroup``: processes are created in it.
    public func directory() throws(LinuxError) -> OwnedDescriptor {
        try OwnedDescriptor(opening: path, flags: wd_open_path | O_DIRECTORY)
    }

    // MARK: State

    /// Whether the cgroup or its descendants contain a live process; nil when that cannot be read.
    public var isPopulated: Bool? { event("populated") }

    /// Whether everything in the cgroup is frozen, no matter by whom; nil when that cannot be read.
    public var isFrozen: Bool? { event("frozen") }

    /// The CPU time of all current and former processes of the cgroup; nil when that cannot be read.
    ///
    /// Every cgroup2 has `cpu.stat`, with or without the controller.
    public var cpuTime: Duration? {
        guard let text = Procfs.page("\(path)/cpu.stat") else { return nil }
        return KeyedNumbers(text)["usage_usec"].map { .microseconds(Int64(clamping: $0)) }
    }

    private func event(_ name: StaticString) -> Bool? {
        guard let text = Procfs.read("\(path)/cgroup.events", limit: 4096) else { return nil }
        return KeyedNumbers(text)[name].map { $0 != 0 }
    }

    /// The processes in the cgroup and its descendants; zombies do not count.
    public func processes() -> [Int32] {
        var processes: [Int32] = []
        Self.walk(path) { directory in
            let text = Procfs.read("\(directory)/cgroup.procs", limit: 4 << 20) ?? []
            processes += text.split(separator: UInt8(ascii: "\n")).compactMap { Int32(decimal: $0) }
        }
        return processes
    }

    /// Whether a process is in the cgroup or its descendants, by its `/proc/PID/cgroup`.
    ///
    /// A zombie stays where it was: cgroups(7).
    func contains(_ pid: Int32) -> Bool {
        guard let own = mounted else { return processes().contains(pid) }
        guard let cgroup = ProcessFacts.cgroup(pid) else { return false }
        return cgroup == own || cgroup.hasPrefix(own + "/")
    }

    /// Whether this or a descendant is the cgroup with this ID, which is its directory's inode number.
    func contains(id: UInt64) -> Bool {
        var isFound = false
        Self.walk(path) { directory in
            var status = stat()
            if !isFound, stat(directory, &status) == 0 { isFound = UInt64(status.st_ino) == id }
        }
        return isFound
    }

    // MARK: Commands

    /// Kills everything in the cgroup and its descendants; returns before the processes are dead.
    public func kill() throws(LinuxError) {
        if let killDescriptor {
            _ = try check("kill cgroup \(path)") { Glibc.write(killDescriptor.number, "1", 1) }
            return
        }
        killMembers()
    }

    /// Kills everything without `cgroup.kill`, which Linux has since 5.14.
    func killMembers() {
        // While frozen, no process can fork away from the list; SIGKILL also ends frozen processes.
        try? freeze()
        let members = processes().compactMap { try? Pidfd(opening: $0) }
        // A pidfd whose number is still listed holds that member, or a process that is gone.
        let confirmed = Set(processes())
        for member in members where confirmed.contains(member.pid) { try? member.send(SIGKILL) }
        try? thaw()
    }

    /// Freezes everything in the cgroup without the processes noticing; ``isFrozen`` says when it is done.
    public func freeze() throws(LinuxError) {
        try write("1", to: "cgroup.freeze")
    }

    /// Thaws the cgroup.
    public func thaw() throws(LinuxError) {
        try write("0", to: "cgroup.freeze")
    }

    /// Removes the cgroup and its descendants.
    ///
    /// - Throws: ``LinuxError`` with ``Errno/busy`` while it contains a process, even a dying one.
    public func remove() throws(LinuxError) {
        if let error = Self.removeTree(path) { throw LinuxError("remove cgroup \(path)", error) }
    }

    /// Creates an empty cgroup below this one.
    ///
    /// Without controllers, a cgroup that contains processes may have children. Their processes belong to this cgroup
    /// too: they are counted, frozen and killed with it.
    public func child(_ name: String) throws(LinuxError) -> Cgroup {
        try CgroupParent(path: path).create(app: name)
    }

    func write(_ text: String, to file: String) throws(LinuxError) {
        let descriptor = try OwnedDescriptor(opening: "\(path)/\(file)", flags: O_WRONLY)
        let bytes = Array(text.utf8)
        _ = try check("write \(path)/\(file)") { Glibc.write(descriptor.number, bytes, bytes.count) }
    }

    // MARK: Directories

    /// Calls the closure for the directory and its descendants, parents first; bounded against hostile nesting.
    static func walk(_ path: String, _ body: (String) -> Void) {
        var pending = [path]
        var visited = 0
        while let next = pending.popLast(), visited < 4096 {
            visited += 1
            body(next)
            pending += subdirectories(next).map { "\(next)/\($0)" }
        }
    }

    static func subdirectories(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            guard entry.pointee.d_type == UInt8(DT_DIR) else { continue }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    @discardableResult
    static func removeTree(_ path: String) -> Errno? {
        var directories: [String] = []
        walk(path) { directories.append($0) }
        for directory in directories.reversed() where rmdir(directory) != 0 {
            let error = Errno.current
            if error != .noSuchFile { return error }
        }
        return nil
    }
}
