// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where journald listens.
public struct JournalAddress: Hashable, Sendable {
    /// journald of this machine, or of the log namespace that this process is in.
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

    /// Whether there is a socket for entries; journald itself may be stopped or not have been started yet.
    public var isPresent: Bool {
        var status = stat()
        return stat(entries, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }
}
