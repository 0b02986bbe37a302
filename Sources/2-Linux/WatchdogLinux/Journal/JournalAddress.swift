// SPDX-License-Identifier: Apache-2.0

import Glibc

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
