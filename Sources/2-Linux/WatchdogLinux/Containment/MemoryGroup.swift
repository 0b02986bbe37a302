// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization

/// A cgroup whose processes together get a limited amount of memory, page cache included, and no swap.
///
/// It is a cgroup of version 2 where that hands down the memory controller without moving a process, otherwise of version 1.
/// When it is released, what is left in it is killed, and it is removed.
///
/// Isolation: immutable; any thread may use and release it.
public final class MemoryGroup: Sendable {
    /// Why there is none.
    public struct Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// "no cgroup file system with a memory controller is mounted".
        public let description: String
    }

    /// For ``SpawnRequest/cgroup``: processes are created in it, or moved to it before they execute their program.
    public let directory: OwnedDescriptor
    /// The limit in bytes.
    public let limit: UInt64
    let path: String

    private static let made = Atomic<Int>(0)

    /// Creates the cgroup below that of the calling process; what earlier processes left of their own is removed.
    ///
    /// - Parameters:
    ///   - name: one path component, to which the process ID and a number are added.
    ///   - limit: in bytes, rounded down to pages by the kernel.
    public convenience init(name: String, limit: UInt64) throws(Unavailable) {
        let text = Procfs.read("/proc/self/cgroup", limit: 64 << 10) ?? []
        try self.init(
            name: name, limit: limit, membership: String(decoding: text, as: UTF8.self), mounts: CgroupMount.all())
    }

    init(name: String, limit: UInt64, membership: String, mounts: [CgroupMount]) throws(Unavailable) {
        let made = try Self.make(name, limit, membership, mounts)
        (path, directory, self.limit) = (made.path, made.directory, limit)
    }

    deinit {
        // Nothing but what was started here can be in it: the program that was limited has ended, or is being killed.
        for _ in 0..<50 {
            guard rmdir(path) != 0, Errno.current == .busy else { return }
            Self.kill(in: path)
            usleep(1_000)
        }
    }

    /// Whether the kernel has killed one of its processes because the limit was reached; false before Linux 4.13.
    public var hasKilled: Bool {
        ["memory.events", "memory.oom_control"].contains { file in
            guard let text = Procfs.read("\(path)/\(file)", limit: 4096) else { return false }
            return KeyedNumbers(text)["oom_kill"].map { $0 > 0 } ?? false
        }
    }

    // MARK: Making

    private static func make(
        _ name: String, _ limit: UInt64, _ membership: String, _ mounts: [CgroupMount]
    ) throws(Unavailable) -> (path: String, directory: OwnedDescriptor) {
        var reason = Unavailable(description: "no cgroup file system with a memory controller is mounted")
        let usable = mounts.filter { $0.isUnified || $0.controllers?.contains("memory") == true }
        for mount in usable.filter(\.isUnified) + usable.filter({ !$0.isUnified }) {
            do throws(Unavailable) {
                let parent = try Self.parent(mount, membership)
                return try make(name, limit, in: parent, isUnified: mount.isUnified)
            } catch {
                reason = error
            }
        }
        throw reason
    }

    private static func parent(_ mount: CgroupMount, _ membership: String) throws(Unavailable) -> String {
        guard let cgroup = mount.cgroup(in: membership), let own = mount.directory(of: cgroup) else {
            throw Unavailable(description: "this process is in no cgroup of the memory controller")
        }
        guard mount.isUnified else {
            // Otherwise what is in a cgroup below does not count in this one, whose limit may be a container's: always so
            // since Linux 5.11, and before it by choice (the kernel's `cgroup-v1/memory.rst`, "Hierarchy support").
            guard Procfs.read("\(own)/memory.use_hierarchy", limit: 8)?.first != UInt8(ascii: "0") else {
                throw Unavailable(description: "cgroup \(own) does not limit what is below it")
            }
            return own
        }
        let parent = CgroupParent.handingDown("memory", for: own)
        guard let parent else { throw Unavailable(description: "the memory controller is not available below \(own)") }
        return parent
    }

    private static func make(
        _ name: String, _ limit: UInt64, in parent: String, isUnified: Bool
    ) throws(Unavailable) -> (path: String, directory: OwnedDescriptor) {
        removeLeftovers(of: name, in: parent)
        let number = made.wrappingAdd(1, ordering: .relaxed).newValue
        let path = "\(parent)/\(name)-\(getpid())-\(number)"
        guard mkdir(path, 0o755) == 0 || Errno.current == .fileExists && rmdir(path) == 0 && mkdir(path, 0o755) == 0
        else { throw Unavailable(description: LinuxError("create cgroup \(path)", .current).description) }
        do throws(LinuxError) {
            try write("\(limit)", to: "\(path)/\(isUnified ? "memory.max" : "memory.limit_in_bytes")")
            // Without swap accounting there are no such files; swapping then remains possible within the limit.
            try? write(
                isUnified ? "0" : "\(limit)", to: "\(path)/memory.\(isUnified ? "swap.max" : "memsw.limit_in_bytes")")
            if !isUnified { try? write("0", to: "\(path)/memory.swappiness") }
            return (path, try OwnedDescriptor(opening: path, flags: wd_open_path | O_DIRECTORY))
        } catch {
            rmdir(path)
            throw Unavailable(description: "\(error)")
        }
    }

    /// Removes the empty cgroups of processes that have ended.
    private static func removeLeftovers(of name: String, in parent: String) {
        for entry in Cgroup.subdirectories(parent) where entry.hasPrefix("\(name)-") {
            let fields = entry.dropFirst(name.count + 1).split(separator: "-")
            guard fields.count == 2, let pid = Int32(decimal: fields[0].utf8),
                Glibc.kill(pid, 0) != 0, Errno.current == .noSuchProcess
            else { continue }
            rmdir("\(parent)/\(entry)")
        }
    }

    private static func write(_ text: String, to file: String) throws(LinuxError) {
        let descriptor = try OwnedDescriptor(opening: file, flags: O_WRONLY)
        _ = try check("write \(file)") { Glibc.write(descriptor.number, text, text.utf8.count) }
    }

    // MARK: Ending

    private static func members(of path: String) -> [Int32] {
        let text = Procfs.read("\(path)/cgroup.procs", limit: 1 << 20) ?? []
        return text.split(separator: UInt8(ascii: "\n")).compactMap { Int32(decimal: $0) }
    }

    private static func kill(in path: String) {
        let opened = members(of: path).compactMap { try? Pidfd(opening: $0) }
        // A pidfd whose number is still listed holds that member, or a process that is gone.
        let present = Set(members(of: path))
        for member in opened where present.contains(member.pid) { try? member.send(SIGKILL) }
    }
}
