// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// A process, held by a descriptor that can never refer to another one: pidfd_open(2).
///
/// The descriptor becomes readable when the process exits: ``EventLoop/onReadable(_:priority:handler:)``.
///
/// Isolation: may be shared between threads; a child is reaped by one of them.
public struct Pidfd: Sendable {
    /// The process ID; identifies the process only until it is reaped.
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

    /// Takes ownership of a pidfd, for example one that a service manager kept.
    public init(pid: Int32, descriptor: OwnedDescriptor) {
        self.pid = pid
        self.descriptor = descriptor
    }

    /// Opens a process by its ID.
    ///
    /// The ID may have been reused: if that matters, compare ``ProcessStat/startTime`` afterward.
    public init(opening pid: Int32) throws(LinuxError) {
        let number = try check("open process \(pid)") { wd_pidfd_open(pid) }
        self.init(pid: pid, descriptor: OwnedDescriptor(taking: number))
    }

    /// Sends a signal; 0 only checks whether it could be sent.
    ///
    /// - Throws: ``LinuxError`` with ``Errno/noSuchProcess`` if the process was reaped, and with ``Errno/notPermitted``
    ///   if it belongs to another user.
    public func send(_ signal: Int32) throws(LinuxError) {
        _ = try check("send signal \(signal) to process \(pid)") { wd_pidfd_send_signal(descriptor.number, signal) }
    }

    /// Sends a signal to the process group that the process leads.
    ///
    /// Since Linux 6.9 the pidfd names the group, even after the process was reaped. Before, its number does, and the
    /// signal is sent only while the process is not reaped; whoever reaps it must not do so meanwhile.
    ///
    /// - Throws: ``LinuxError`` with ``Errno/noSuchProcess`` if the group has no process.
    public func sendToGroup(_ signal: Int32) throws(LinuxError) {
        _ = try check("send signal \(signal) to process group \(pid)") {
            wd_pidfd_signal_group(descriptor.number, pid, signal)
        }
    }

    /// Whether the process has exited, reaped or not.
    public var hasExited: Bool {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }

    /// Whether the process has not been reaped, so that its ID means no other one.
    public var isPresent: Bool {
        do throws(LinuxError) {
            try send(0)
            return true
        } catch {
            return error.errno == .notPermitted
        }
    }

    /// Waits until the process has exited.
    ///
    /// - Returns: false if it has not by then.
    func waitUntilExited(by end: Instant) -> Bool {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        while true {
            let left = max((end - .now()).nanoseconds, 0)
            // Rounded up: the last round waits for what is left.
            let count = poll(&entry, 1, Int32(clamping: (left + 999_999) / 1_000_000))
            guard count <= 0, left > 0, count == 0 || Errno.current == .interrupted else { return count > 0 }
        }
    }

    /// Reaps the process if it has exited; nil while it is alive.
    ///
    /// Never waits. A process that is not a child, such as an adopted one, cannot be reaped; its status is available
    /// since Linux 6.15, and is ``ExitStatus/unknown`` before. A process stopped by a debugger exits only when the
    /// debugger releases it.
    public func waitExit() throws(LinuxError) -> ProcessExit? {
        var result = wd_wait_result()
        do throws(LinuxError) {
            _ = try check("wait for process \(pid)") { wd_wait_pidfd(descriptor.number, WD_WAIT_EXIT, &result) }
            return ExitStatus(result).map { ProcessExit(status: $0, usage: ResourceUsage(result)) }
        } catch {
            guard error.errno == .noChild else { throw error }
        }
        guard hasExited else { return nil }
        // Until its parent has reaped the process, only /proc has the status; afterward, only the pidfd.
        let status = statusOfReaped ?? statusOfZombie ?? statusOfReaped
        return ProcessExit(status: status ?? .unknown, usage: nil)
    }

    private var statusOfReaped: ExitStatus? {
        var result = wd_wait_result()
        guard wd_pidfd_exit_status(descriptor.number, &result) == 0 else { return nil }
        return ExitStatus(result)
    }

    /// The last field of proc_pid_stat(5); it reads as 0 without permission.
    private var statusOfZombie: ExitStatus? {
        var owner = stat()
        guard let line = Procfs.line("/proc/\(pid)/stat"), ProcessStat(parsing: Array(line.utf8))?.state == .zombie,
            stat("/proc/\(pid)", &owner) == 0, [0, owner.st_uid].contains(geteuid()),
            let field = line.split(separator: " ").last, let status = Int32(field),
            // The ID cannot be reused before the process is reaped.
            DescriptorKind(of: descriptor) == .process(pid)
        else { return nil }
        let signal = status & 0x7f
        guard signal != 0 else { return .exited(code: status >> 8 & 0xff) }
        return .signaled(signal: signal, coreDumped: status & 0x80 != 0)
    }

    /// Consumes a pending stop or continuation by job control; nil if there is none.
    ///
    /// Never waits. Only for children. Must not be called while a thread of this process traces the process: it would
    /// consume the event that the tracer waits for.
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
