// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// The most that an app may take of the machine: cgroups(7), the kernel's `admin-guide/cgroup-v2.rst`.
public struct CgroupLimits: Hashable, Sendable {
    /// CPU time per second of wall-clock time; nil for no limit.
    public var cpuQuota: Duration?
    /// Memory in bytes; nil for no limit.
    public var memory: UInt64?
    /// Processes and threads; nil for no limit.
    public var tasks: UInt64?

    /// Creates limits.
    public init(cpuQuota: Duration? = nil, memory: UInt64? = nil, tasks: UInt64? = nil) {
        self.cpuQuota = cpuQuota
        self.memory = memory
        self.tasks = tasks
    }

    /// The controllers that the limits require.
    public var controllers: [String] { settings.map(\.controller) }

    /// The kernel's default period; the quota is CPU time per period.
    private static let cpuPeriodMicroseconds: Int64 = 100_000

    var settings: [(controller: String, file: String, value: String)] {
        var settings: [(controller: String, file: String, value: String)] = []
        if let cpuQuota {
            let perPeriod = Double(cpuQuota.nanoseconds) / 1e9 * Double(Self.cpuPeriodMicroseconds)
            // The kernel rejects less than a millisecond.
            let quota = max(1_000, perPeriod < 9e18 ? Int64(perPeriod) : .max)
            settings.append(("cpu", "cpu.max", "\(quota) \(Self.cpuPeriodMicroseconds)"))
        }
        if let memory { settings.append(("memory", "memory.max", "\(memory)")) }
        if let tasks { settings.append(("pids", "pids.max", "\(tasks)")) }
        return settings
    }
}

extension Cgroup {
    /// Sets limits, if the cgroup has the controllers for them.
    ///
    /// - Returns: the controllers whose limits could not be set, with the kernel's reason.
    public func apply(_ limits: CgroupLimits) -> [(controller: String, reason: String)] {
        limits.settings.compactMap { setting in
            do throws(LinuxError) {
                try write(setting.value, to: setting.file)
                return nil
            } catch {
                let isMissing = error.errno == .noSuchFile
                return (setting.controller, isMissing ? "there is no \(setting.controller) controller" : "\(error)")
            }
        }
    }

    /// How many processes of this cgroup the OOM killer has killed; nil when the kernel does not count that.
    public var memoryKills: Int? {
        guard let text = Procfs.read("\(path)/memory.events", limit: 4096) else { return nil }
        return KeyedNumbers(text)["oom_kill"].map { Int(clamping: $0) }
    }
}

extension CgroupParent {
    /// Enables controllers for the cgroups of apps.
    ///
    /// A cgroup that passes controllers to its children must not contain processes itself. If this process is in the
    /// cgroup and a service manager has delegated it (`Delegate=yes`), this process and its launcher move to a cgroup
    /// `supervisor` beside those of the apps.
    ///
    /// - Returns: the controllers that apps have.
    public func enable(_ controllers: [String]) -> Set<String> {
        let own = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        for directory in [own, path] {
            for controller in controllers where Self.controllers(of: directory).contains(controller) {
                Self.handDown(controller, in: directory, isOwn: directory == own)
            }
        }
        return Self.controllers(of: path).intersection(Self.words(in: "\(path)/cgroup.subtree_control"))
    }

    /// Enables a controller for cgroups that are not an app's, but moves no process for that.
    ///
    /// After ``enable(_:)`` has moved this process, the cgroups belong beside its `supervisor`.
    ///
    /// - Parameters:
    ///   - own: the directory of this process's cgroup.
    ///   - isDelegated: whether a service manager has left a directory to its service.
    /// - Returns: the directory whose children have the controller; nil if there is none.
    static func handingDown(
        _ controller: String, for own: String, isDelegated: (String) -> Bool = { wd_cgroup_is_delegated($0) }
    ) -> String? {
        let suffix = "/supervisor"
        let outer = String(own.dropLast(suffix.count))
        let parent = own.hasSuffix(suffix) && isDelegated(outer) ? outer : own
        guard controllers(of: parent).contains(controller) else { return nil }
        func isHandedDown() -> Bool { words(in: "\(parent)/cgroup.subtree_control").contains(controller) }
        if !isHandedDown() { handDown(controller, in: parent, isOwn: false) }
        return isHandedDown() ? parent : nil
    }

    private static func handDown(_ controller: String, in directory: String, isOwn: Bool) {
        func attempt() -> Errno? {
            do throws(LinuxError) {
                try writeControl("+\(controller)", to: "\(directory)/cgroup.subtree_control")
                return nil
            } catch {
                return error.errno
            }
        }
        guard attempt() == .busy, isOwn, wd_cgroup_is_delegated(directory) else { return }
        let leaf = "\(directory)/supervisor"
        guard mkdir(leaf, 0o755) == 0 || Errno.current == .fileExists else { return }
        for process in Procfs.read("\(directory)/cgroup.procs")?.split(separator: UInt8(ascii: "\n")) ?? [] {
            try? writeControl(String(decoding: process, as: UTF8.self), to: "\(leaf)/cgroup.procs")
        }
        _ = attempt()
    }

    /// The controllers of this machine's cgroup2 hierarchy.
    public static var availableControllers: Set<String> {
        CgroupMount.all().last(where: \.isUnified).map { controllers(of: $0.directory) } ?? []
    }

    static func controllers(of directory: String) -> Set<String> { words(in: "\(directory)/cgroup.controllers") }

    private static func words(in file: String) -> Set<String> {
        let text = Procfs.read(file, limit: 4096) ?? []
        return Set(text.split { $0 <= 0x20 }.map { String(decoding: $0, as: UTF8.self) })
    }

    private static func writeControl(_ text: String, to file: String) throws(LinuxError) {
        let descriptor = try OwnedDescriptor(opening: file, flags: O_WRONLY)
        let bytes = Array(text.utf8)
        _ = try check("write \(file)") { Glibc.write(descriptor.number, bytes, bytes.count) }
    }
}
