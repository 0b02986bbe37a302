// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A cgroup2 cgroup that holds one app and everything it starts.
///
/// Isolation: immutable but for the kernel's state; may be shared between threads.
public final class Cgroup: Sendable {
    /// Its directory.
    public let path: String
    /// Becomes ``IOSource/Readiness/exceptional`` when the cgroup gets or loses its last process, is frozen or thawed.
    ///
    /// Stays so until ``isPopulated`` or ``isFrozen`` is read.
    public let events: OwnedDescriptor
    /// Writing "1" kills everything in the cgroup; nil before Linux 5.14.
    ///
    /// For a thread that must not open files when the time comes.
    public let killDescriptor: OwnedDescriptor?

    /// Opens a cgroup by its directory, such as one whose app outlived the supervisor's restart.
    public init(opening path: String) throws(LinuxError) {
        self.path = path.withoutSpareRoom
        events = try OwnedDescriptor(opening: "\(path)/cgroup.events", flags: O_RDONLY)
        killDescriptor = try? OwnedDescriptor(opening: "\(path)/cgroup.kill", flags: O_WRONLY)
    }

    /// The cgroups in a directory of which the names are such, whoever has created them.
    public static func all(in directory: String, where isMeant: (String) -> Bool) -> [Cgroup] {
        subdirectories(directory).filter(isMeant).compactMap { try? Cgroup(opening: "\(directory)/\($0)") }
    }

    /// For ``SpawnRequest/cgroup``: processes are born into it.
    public func directory() throws(LinuxError) -> OwnedDescriptor {
        try OwnedDescriptor(opening: path, flags: wd_open_path | O_DIRECTORY)
    }

    // MARK: State

    /// True when a process that has not ended is in the cgroup or below it; nil when that cannot be read.
    public var isPopulated: Bool? { event("populated") }

    /// True when everything in the cgroup is frozen, by whomever; nil when that cannot be read.
    public var isFrozen: Bool? { event("frozen") }

    /// CPU time of everything that is or was in the cgroup; nil when that cannot be read.
    ///
    /// `cpu.stat` is there in every cgroup2, whether or not the controller is on.
    public var cpuTime: Duration? {
        guard let text = Procfs.read("\(path)/cpu.stat", limit: 4096) else { return nil }
        return KeyedNumbers(text)["usage_usec"].map { .microseconds(Int64(clamping: $0)) }
    }

    private func event(_ name: String) -> Bool? {
        guard let text = Procfs.readAll(events.number, limit: 4096) else { return nil }
        return KeyedNumbers(text)[name].map { $0 != 0 }
    }

    /// The processes in the cgroup and below it; zombies do not count.
    public func processes() -> [Int32] {
        var processes: [Int32] = []
        Self.walk(path) { directory in
            let text = Procfs.read("\(directory)/cgroup.procs", limit: 4 << 20) ?? []
            processes += text.split(separator: UInt8(ascii: "\n")).compactMap { Int32(decimal: $0) }
        }
        return processes
    }

    // MARK: Commands

    /// Kills everything in the cgroup and below it; returns before it is dead.
    public func kill() throws(LinuxError) {
        if let killDescriptor {
            _ = try check("kill cgroup \(path)") { Glibc.write(killDescriptor.number, "1", 1) }
            return
        }
        // Frozen, nothing can fork away from the list; SIGKILL ends frozen processes too.
        try? freeze()
        for pid in processes() { Glibc.kill(pid, SIGKILL) }
        try? thaw()
    }

    /// Stops everything in the cgroup without the processes noticing; ``isFrozen`` tells when it is done.
    public func freeze() throws(LinuxError) {
        try write("1", to: "cgroup.freeze")
    }

    /// Lets everything continue.
    public func thaw() throws(LinuxError) {
        try write("0", to: "cgroup.freeze")
    }

    /// Removes the cgroup and those below it.
    ///
    /// - Throws: ``LinuxError`` with ``Errno/busy`` while a process is in it, even one that is dying.
    public func remove() throws(LinuxError) {
        if let error = Self.removeTree(path) { throw LinuxError("remove cgroup \(path)", error) }
    }

    /// Creates an empty cgroup below this one.
    ///
    /// Without controllers, a cgroup that holds processes may have others below it. What is in them belongs to this one
    /// too: it is counted, frozen and killed with it.
    public func child(_ name: String) throws(LinuxError) -> Cgroup {
        try CgroupParent(path: path).create(app: name)
    }

    func write(_ text: String, to file: String) throws(LinuxError) {
        let descriptor = try OwnedDescriptor(opening: "\(path)/\(file)", flags: O_WRONLY)
        let bytes = Array(text.utf8)
        _ = try check("write \(path)/\(file)") { Glibc.write(descriptor.number, bytes, bytes.count) }
    }

    // MARK: Directories

    /// Calls the closure for the directory and those below it, parents first; bounded against hostile nesting.
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
