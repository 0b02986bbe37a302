// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// The connection over which entries are sent to journald; connects when necessary.
struct JournalSocket: ~Copyable {
    enum Result {
        case sent
        /// journald's queue is full: ``descriptor`` becomes writable when there is room again.
        case full
        /// journald does not run or does not accept this entry.
        case refused
    }

    private let address: JournalAddress
    private(set) var descriptor: OwnedDescriptor?

    init(_ address: JournalAddress) {
        self.address = address
    }

    /// Sends an entry without waiting.
    mutating func send(_ bytes: [UInt8]) -> Result {
        // A restarted journald may have a new socket under the old name: reconnect once.
        for _ in 0..<2 {
            if descriptor == nil {
                let number = wd_journal_datagram(address.entries)
                guard number >= 0 else { return .refused }
                descriptor = OwnedDescriptor(taking: number)
            }
            guard let descriptor else { return .refused }
            if wd_socket_send(descriptor.number, bytes, bytes.count) == 0 { return .sent }
            var error = Errno.current
            // The socket's buffer is smaller than the entry, as ordinary users' are.
            if error == .messageTooLong || error.rawValue == ENOBUFS {
                if wd_journal_send_file(descriptor.number, bytes, bytes.count) == 0 { return .sent }
                error = .current
                if error != .wouldBlock, error.rawValue != ECONNREFUSED { return .refused }
            }
            if error == .wouldBlock { return .full }
            self.descriptor = nil
        }
        return .refused
    }
}

/// Where journald listens.
public struct JournalAddress: Hashable, Sendable {
    /// The journald of this machine, or of this process's log namespace.
    public static let system = JournalAddress(directory: "/run/systemd/journal")

    /// The socket for entries: datagrams of the native protocol.
    public let entries: String
    /// The socket for output: one connection per stream.
    public let streams: String

    /// The sockets `socket` and `stdout` in a directory.
    public init(directory: String) {
        entries = "\(directory)/socket"
        streams = "\(directory)/stdout"
    }

    /// Whether the socket for entries exists; journald itself may be stopped or not started yet.
    public var isPresent: Bool {
        var status = stat()
        return stat(entries, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
}
