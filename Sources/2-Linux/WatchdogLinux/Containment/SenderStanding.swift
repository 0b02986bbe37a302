// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// What is known of the process that sent a message.
public enum SenderStanding: Hashable, Sendable {
    /// It belongs to the app.
    case member
    /// It does not.
    case stranger
    /// It is gone, and it is unknown whose it was.
    case unknown
}

extension Containment {
    /// Whether the sender of a message belongs to the app.
    ///
    /// The kernel's pidfd says it without doubt. Where the kernel gives none (before Linux 6.5), a process that began
    /// after the message was sent is another one with the same ID.
    public func standing(ofSender message: SocketMessage) -> SenderStanding {
        guard message.senderProcess > 0 else { return .stranger }
        guard !message.isSenderLost, let stat = ProcessStat.read(message.senderProcess) else { return former(message) }
        let isMember =
            switch self {
            case .cgroup(let cgroup): cgroup.contains(stat.id)
            case .processTree(let tree): tree.contains(stat)
            }
        // Read first: unless the sender was reaped by now, its ID meant nobody else.
        guard isPresent(message, stat) else { return former(message) }
        return isMember ? .member : .stranger
    }

    /// Whether the sender has not been reaped.
    private func isPresent(_ message: SocketMessage, _ stat: ProcessStat) -> Bool {
        guard let sender = message.sender else {
            let sent = readNanoseconds(of: CLOCK_BOOTTIME) - message.age.nanoseconds
            let tick = Int64(1_000_000_000 / max(1, sysconf(Int32(_SC_CLK_TCK))))
            return Int64(clamping: stat.startTime) * tick <= sent
        }
        return sender.isPresent
    }

    /// What the kernel keeps of a process that was reaped: its cgroup, since Linux 6.17.
    private func former(_ message: SocketMessage) -> SenderStanding {
        guard case .cgroup(let cgroup) = self, let sender = message.sender else { return .unknown }
        var id: UInt64 = 0
        guard wd_pidfd_exit_cgroup(sender.descriptor.number, &id) == 0 else { return .unknown }
        return cgroup.contains(id: id) ? .member : .stranger
    }
}
