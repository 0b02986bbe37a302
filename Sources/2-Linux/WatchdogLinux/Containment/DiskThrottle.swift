// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// Limits how fast an app's processes together read and write each disk of the machine.
///
/// With cgroups version 2, it sets `io.max` of the app's cgroup. With version 1, it has a cgroup of its own below that of
/// the calling process, which is removed when this is released; that kind limits what processes read themselves, and what
/// they write with `O_DIRECT` or `O_SYNC`: admin-guide/cgroup-v1/blkio-controller.rst.
///
/// Isolation: one thread at a time.
public final class DiskThrottle {
    /// Why disks cannot be slowed down.
    public struct Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// The numbers of the disks: `254:0`.
    private let disks: [String]
    /// The cgroup of version 1; nil with version 2.
    private let path: String?

    /// Prepares a throttle that limits nothing yet.
    ///
    /// - Parameter isUnified: whether the app's cgroup is of version 2 and has the io controller.
    public init(isUnified: Bool) throws(Unavailable) {
        disks = Self.allDisks
        guard !disks.isEmpty else { throw Unavailable(description: "/sys/block lists no disk") }
        path = isUnified ? nil : try Self.firstVersion()
    }

    deinit { if let path { Cgroup.removeTree(path) } }

    /// By what it limits, for messages.
    public var means: String { path == nil ? "a limit of its cgroup" : "a cgroup of version 1" }
    /// Whether processes must be moved to it.
    public var needsMoves: Bool { path != nil }

    /// Sets the limit of each disk in bytes per second; nil removes it.
    ///
    /// - Parameter cgroup: the app's, which is limited with version 2.
    /// - Throws: the first error, after all disks that are still there have been tried.
    public func limit(to bytes: UInt64?, _ cgroup: Cgroup?) throws(LinuxError) {
        var failure: LinuxError?
        for disk in disks {
            do throws(LinuxError) {
                try limit(disk, to: bytes, cgroup)
            } catch {
                // ENODEV: the disk was removed.
                if error.errno != Errno(rawValue: ENODEV), failure == nil { failure = error }
            }
        }
        if let failure { throw failure }
    }

    private func limit(_ disk: String, to bytes: UInt64?, _ cgroup: Cgroup?) throws(LinuxError) {
        guard let path else {
            let value = bytes.map { "\($0)" } ?? "max"
            try cgroup?.write("\(disk) rbps=\(value) wbps=\(value)", to: "io.max")
            return
        }
        for file in ["blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"] {
            try Self.write("\(disk) \(bytes ?? 0)", to: "\(path)/\(file)")
        }
    }

    /// Moves a running process, but not those that it has started, to the cgroup of version 1.
    public func move(_ process: Int32) throws(LinuxError) {
        if let path { try Self.write("\(process)", to: "\(path)/cgroup.procs") }
    }

    private static func firstVersion() throws(Unavailable) -> String {
        let membership = String(decoding: Procfs.read("/proc/self/cgroup") ?? [], as: UTF8.self)
        guard let mount = CgroupMount.all().last(where: { $0.controllers?.contains("blkio") == true }),
            let own = mount.cgroup(in: membership), let parent = mount.directory(of: own)
        else { throw Unavailable(description: "no cgroup file system with an io or blkio controller is mounted") }
        let path = "\(parent)/watchdogd-fault-\(getpid())"
        guard mkdir(path, 0o755) == 0 || Errno.current == .fileExists else {
            throw Unavailable(description: "cannot create \(path): \(Errno.current)")
        }
        guard access("\(path)/blkio.throttle.read_bps_device", W_OK) == 0 else {
            rmdir(path)
            throw Unavailable(description: "the blkio controller of this kernel does not limit speeds")
        }
        return path
    }

    /// The whole disks that have a size: sysfs-block.
    private static var allDisks: [String] {
        guard let directory = opendir("/sys/block") else { return [] }
        defer { closedir(directory) }
        var disks: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let size = Procfs.text("/sys/block/\(name)/size") ?? "0"
            guard !name.hasPrefix("."), !size.hasPrefix("0"), let number = Procfs.text("/sys/block/\(name)/dev") else {
                continue
            }
            disks.append(String(number.prefix { !$0.isWhitespace }))
        }
        return disks.sorted()
    }

    private static func write(_ text: String, to file: String) throws(LinuxError) {
        let descriptor = try OwnedDescriptor(opening: file, flags: O_WRONLY)
        let bytes = Array(text.utf8)
        _ = try check("write \(file)") { Glibc.write(descriptor.number, bytes, bytes.count) }
    }
}
