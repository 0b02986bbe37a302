// SPDX-License-Identifier: Apache-2.0

import CLinux

/// One message from a Unix socket, with what the kernel says of its sender.
public struct Datagram: Sendable {
    /// Who sent it, by the kernel's word.
    public struct Sender: Hashable, Sendable {
        /// The process id, which may be gone or used again by now.
        public let pid: Int32
        /// The user id.
        public let user: UInt32
    }

    /// The bytes, at most ``limit``.
    public let bytes: [UInt8]
    /// Whether it was longer than ``limit``; the rest is lost.
    public let isTruncated: Bool
    /// Who sent it; nil when the socket does not ask.
    public let sender: Sender?
    /// Descriptors that came with it; closed when the last copy of the message goes, which answers `BARRIER=1`.
    public let attachments: [OwnedDescriptor]

    /// The longest message that is read.
    public static let limit = 4096

    /// Reads one message without blocking; nil when none is there.
    static func receive(from descriptor: Int32) throws(LinuxError) -> Datagram? {
        var received = wd_received()
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            length = wd_receive(descriptor, buffer.baseAddress, limit, &received)
            count = max(0, length)
        }
        guard length >= 0 else {
            let error = Errno.current
            guard error == .wouldBlock else { throw LinuxError("receive a message", error) }
            return nil
        }
        return Datagram(
            bytes: bytes,
            isTruncated: received.is_truncated,
            sender: received.has_sender ? Sender(pid: received.sender_pid, user: received.sender_uid) : nil,
            attachments: received.ownedAttachments
        )
    }
}

extension wd_received {
    fileprivate var ownedAttachments: [OwnedDescriptor] {
        withUnsafeBytes(of: attachments) { bytes in
            bytes.bindMemory(to: Int32.self).prefix(Int(attachment_count)).map { OwnedDescriptor(taking: $0) }
        }
    }
}
