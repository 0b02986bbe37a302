// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// A cgroup whose processes together get at most a share of one CPU.
///
/// It is a cgroup of version 2 where that has the cpu controller, otherwise of version 1. Removed when it is released.
public final class CPUQuota {
    /// Why there is no quota, worded to follow "cannot limit the CPU: ".
    public struct Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// For ``SpawnRequest/cgroup``: processes are created in it, or moved to it before they execute their program.
    public let directory: OwnedDescriptor
    private let path: String

    /// The kernel's default period: admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst.
    private static let period: Int64 = 100_000

    /// Creates the cgroup below that of the calling process.
    ///
    /// - Parameters:
    ///   - share: The CPU time per second of wall time, from 0.01: 0.5 is half of one CPU.
    ///   - isFirst: Whether only version 1 will do, where a process is in a cgroup of version 2 beside it.
    public init(share: Double, onlyOfVersionOne isFirst: Bool = false) throws(Unavailable) {
        let quota = max(1_000, Int64(share * Double(Self.period)))
        let membership = String(decoding: Procfs.read("/proc/self/cgroup") ?? [], as: UTF8.self)
        let mounts = CgroupMount.all()
        var reasons: [String] = []
        var created: String?
        for mount in mounts where mount.isUnified ? !isFirst : mount.controllers?.contains("cpu") == true {
            do throws(Unavailable) {
                created =
                    try mount.isUnified
                    ? Self.second(quota: quota) : Self.first(mount, membership, quota: quota)
                break
            } catch {
                reasons.append(error.description)
            }
        }
        guard let created, let directory = try? OwnedDescriptor(opening: created, flags: wd_open_path | O_DIRECTORY)
        else {
            throw Unavailable(description: reasons.last ?? "no cgroup file system with a cpu controller is mounted")
        }
        (path, self.directory) = (created, directory)
    }

    deinit { Cgroup.removeTree(path) }

    /// Moves a running process, but not those that it has started, into the cgroup.
    public func move(_ process: Int32) throws(LinuxError) {
        let descriptor = try OwnedDescriptor(opening: "\(path)/cgroup.procs", flags: O_WRONLY)
        let bytes = Array("\(process)".utf8)
        _ = try check("move process \(process) to \(path)") { Glibc.write(descriptor.number, bytes, bytes.count) }
    }

    private static func second(quota: Int64) throws(Unavailable) -> String {
        do {
            let parent = try CgroupParent.create()
            guard parent.enable(["cpu"]).contains("cpu") else {
                try? parent.remove()
                throw Unavailable(description: "the cpu controller is not available below \(parent.path)")
            }
            let cgroup = try parent.create(app: "measured")
            try cgroup.write("\(quota) \(period)", to: "cpu.max")
            return cgroup.path
        } catch {
            throw (error as? Unavailable) ?? Unavailable(description: "\(error)")
        }
    }

    private static func first(
        _ mount: CgroupMount, _ membership: String, quota: Int64
    ) throws(Unavailable) -> String {
        guard let own = mount.cgroup(in: membership), let parent = mount.directory(of: own) else {
            throw Unavailable(description: "this process is in no cgroup of the cpu controller")
        }
        let path = "\(parent)/watchdogd-measure-\(getpid())"
        guard mkdir(path, 0o755) == 0 || Errno.current == .fileExists else {
            throw Unavailable(description: "cannot create \(path): \(Errno.current)")
        }
        do throws(LinuxError) {
            for (file, value) in [("cpu.cfs_period_us", period), ("cpu.cfs_quota_us", quota)] {
                let descriptor = try OwnedDescriptor(opening: "\(path)/\(file)", flags: O_WRONLY)
                let bytes = Array("\(value)".utf8)
                _ = try check("write \(path)/\(file)") { Glibc.write(descriptor.number, bytes, bytes.count) }
            }
            return path
        } catch {
            rmdir(path)
            throw Unavailable(description: "\(error)")
        }
    }
}
