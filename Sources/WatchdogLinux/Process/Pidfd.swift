// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogPolicy

/// A process, held by a descriptor that can never come to mean another one: pidfd_open(2).
///
/// The descriptor becomes readable when the process has ended: ``EventLoop/onReadable(_:priority:handler:)``.
/// Isolation: may be shared between threads; a child is reaped by one of them.
public struct Pidfd: Sendable {
    /// The process id; names the process only until it is reaped.
    public let pid: Int32
    /// The pidfd itself.
    public let descriptor: OwnedDescriptor

    /// A stop or continuation by job control signals.
    public enum JobControlChange: Hashable, Sendable {
        /// A signal stopped the process.
        case stopped(signal: Int32)
        /// `SIGCONT` continued it.
        case continued
    }

    /// Takes over a pidfd, for example one that a service manager kept.
    public init(pid: Int32, descriptor: OwnedDescriptor) {
        self.pid = pid
        self.descriptor = descriptor
    }

    /// Opens a process by its id.
    ///
    /// The id may have been reused: compare ``ProcessStat/startTime`` afterwards when that matters.
    public init(opening pid: Int32) throws(LinuxError) {
        let number = try check("open process \(pid)") { wd_pidfd_open(pid) }
        self.init(pid: pid, descriptor: OwnedDescriptor(taking: number))
    }

    /// Sends a signal; 0 only tests whether that would be possible.
    ///
    /// - Throws: ``LinuxError`` with ``Errno/noSuchProcess`` when the process is gone and reaped, and
    ///   ``Errno/notPermitted`` when it belongs to somebody else.
    public func send(_ signal: Int32) throws(LinuxError) {
        _ = try check("send signal \(signal) to process \(pid)") { wd_pidfd_send_signal(descriptor.number, signal) }
    }

    /// True when the process has ended, whether or not it has been reaped.
    public var hasExited: Bool {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    /// Reaps the process if it has ended; nil while it lives.
    ///
    /// Never waits.
    /// A process that is not a child, such as one adopted after a restart, cannot be reaped; its status is known from
    /// Linux 6.15 on, and ``ExitStatus/unknown`` before. A process that is stopped by a debugger ends only when the
    /// debugger lets go of it.
    public func waitExit() throws(LinuxError) -> ProcessExit? {
        var result = wd_wait_result()
        do throws(LinuxError) {
            _ = try check("wait for process \(pid)") { wd_wait_pidfd(descriptor.number, WD_WAIT_EXIT, &result) }
            return ExitStatus(result).map { ProcessExit(status: $0, usage: ResourceUsage(result)) }
        } catch {
            guard error.errno == .noChild else { throw error }
        }
        guard hasExited else { return nil }
        // Before its parent has reaped it, only /proc tells; afterwards only the pidfd.
        let status = statusOfReaped ?? statusOfZombie ?? statusOfReaped
        return ProcessExit(status: status ?? .unknown, usage: nil)
    }

    private var statusOfReaped: ExitStatus? {
        var result = wd_wait_result()
        guard wd_pidfd_exit_status(descriptor.number, &result) == 0 else { return nil }
        return ExitStatus(result)
    }

    /// The last field of proc_pid_stat(5), which is 0 for those who may not know.
    private var statusOfZombie: ExitStatus? {
        var owner = stat()
        guard let line = Procfs.line("/proc/\(pid)/stat"), ProcessStat(parsing: Array(line.utf8))?.state == .zombie,
            stat("/proc/\(pid)", &owner) == 0, [0, owner.st_uid].contains(geteuid()),
            let field = line.split(separator: " ").last, let status = Int32(field),
            // The id is not free before the process is reaped.
            DescriptorKind(of: descriptor) == .process(pid)
        else { return nil }
        let signal = status & 0x7f
        guard signal != 0 else { return .exited(code: status >> 8 & 0xff) }
        return .signaled(signal: signal, coreDumped: status & 0x80 != 0)
    }

    /// Takes the news that job control stopped or continued the process; nil when there is none.
    ///
    /// Never waits. Only for children. Must not be called while a thread of this process traces the process: the news that the
    /// tracer waits for would be taken from it.
    public func waitStopOrContinue() throws(LinuxError) -> JobControlChange? {
        var result = wd_wait_result()
        _ = try check("wait for process \(pid)") {
            wd_wait_pidfd(descriptor.number, WD_WAIT_STOP_OR_CONTINUE, &result)
        }
        switch result.change {
        case WD_CHANGE_STOPPED: return .stopped(signal: result.status)
        case WD_CHANGE_CONTINUED: return .continued
        default: return nil
        }
    }
}
