// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// The reason why the kernel refused a rung's perf events, and the remedy.
struct PerfRefusal: Equatable {
    /// The settings that determine the kernel's answer.
    struct Circumstances {
        /// `kernel.perf_event_paranoid`; nil where the kernel has no perf events.
        var paranoid: Int?
        /// Whether a seccomp filter applies to this process.
        var isFiltered: Bool
        var isRoot: Bool
    }

    /// The operation of perf_event_open(2) in a ``LinuxError``.
    static let opening = "open a perf event"
    /// The operation of mmap(2) for a ring.
    static let mapping = "map a ring of perf events"

    /// The error, and its cause if known.
    let reason: String
    /// The remedy, as a clause; nil if unknown.
    let remedy: String?

    /// - Parameter isWide: whether events of all CPUs were requested: rung A.
    init(_ error: LinuxError, isWide: Bool, _ circumstances: Circumstances = .current) {
        let refusesEvent = error.operation == Self.opening
        switch error.errno {
        // Not ENOSYS of a kernel without perf events, on which perf_event_paranoid does not exist, either.
        case .notPermitted where refusesEvent && circumstances.isFiltered,
            Self.notImplemented where refusesEvent && circumstances.isFiltered && circumstances.paranoid != nil:
            reason = "\(error): a seccomp filter, as container engines install, refuses perf_event_open(2)"
            remedy = "run outside of the container, or allow it in the filter"
        case .notPermitted where error.operation == Self.mapping:
            reason = "\(error)"
            remedy = "run as root, or raise the sysctl kernel.perf_event_mlock_kb"
        case .permissionDenied, .notPermitted:
            // Above it, a process without CAP_PERFMON gets EPERM for a tracepoint and EACCES for other events.
            let highest = isWide ? -1 : 2
            let level = circumstances.paranoid.flatMap { refusesEvent && $0 > highest ? $0 : nil }
            reason = level.map { "\(error): kernel.perf_event_paranoid is \($0)" } ?? "\(error)"
            let capability = isWide ? "CAP_SYS_ADMIN" : "CAP_PERFMON"
            let privilege = circumstances.isRoot ? "run as root with \(capability)" : "run as root"
            let isCurable = level != nil && !isWide
            remedy = isCurable ? "\(privilege), or set the sysctl kernel.perf_event_paranoid to 2" : privilege
        case Errno(rawValue: EMFILE):
            reason = "\(error)"
            remedy = "raise the limit of open files (ulimit -n)"
        case Self.notImplemented, .noSuchFile:
            reason = "\(error)"
            remedy = "use a kernel with perf events and tracefs"
        default:
            reason = "\(error)"
            remedy = nil
        }
    }

    private static let notImplemented = Errno(rawValue: ENOSYS)
}

extension PerfRefusal.Circumstances {
    /// The circumstances of this thread.
    static var current: Self {
        let paranoid = Procfs.text("/proc/sys/kernel/perf_event_paranoid", limit: 16)?.split(separator: "\n").first
        return Self(
            paranoid: paranoid.flatMap { Int($0) },
            isFiltered: isFiltered(status: Procfs.text("/proc/thread-self/status", limit: 16 << 10) ?? ""),
            isRoot: geteuid() == 0)
    }

    /// Whether the `Seccomp:` line of a `status` file is 2, SECCOMP_MODE_FILTER: proc_pid_status(5).
    static func isFiltered(status: String) -> Bool {
        status.split(separator: "\n").contains { $0.hasPrefix("Seccomp:") && $0.hasSuffix("\t2") }
    }
}
