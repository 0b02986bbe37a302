// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

@testable import WatchdogLinux

/// journald's sockets in a test's directory, without a journald that reads them.
final class FakeJournal {
    let address: JournalAddress
    /// Receives entries.
    let entries: OwnedDescriptor
    /// Accepts streams.
    let streams: OwnedDescriptor

    /// - Parameter backlog: how many streams may wait to be accepted.
    init(in directory: String, backlog: Int32 = 8) throws {
        address = JournalAddress(directory: directory)
        let entries = address.entries
        let streams = address.streams
        self.entries = OwnedDescriptor(
            taking: try check("bind \(entries)") { wd_socket_bind_datagram(entries, 0) })
        self.streams = OwnedDescriptor(taking: try check("listen at \(streams)") { wd_stream_listen(streams, 0o666) })
        _ = try check("set the backlog") { listen(self.streams.number, backlog) }
    }

    /// Another test may be starting a process that has a copy of these sockets until its execve(2).
    deinit {
        for socket in [entries, streams] { shutdown(socket.number, Int32(SHUT_RDWR)) }
    }

    /// The next entry as text; nil if none arrives.
    func entry() -> String? {
        guard waitReadable(entries) else { return nil }
        return waitingEntry()
    }

    /// The next entry if it has already arrived.
    func waitingEntry() -> String? {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(entries.number, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    /// The file of the next entry, if it is too large for a datagram.
    func file() -> OwnedDescriptor? {
        guard waitReadable(entries) else { return nil }
        var message = wd_socket_message()
        var numbers = [Int32](repeating: -1, count: Int(WD_SOCKET_MOST_DESCRIPTORS))
        var byte: UInt8 = 0
        guard wd_socket_receive(entries.number, &byte, 1, &message, &numbers) == 0, message.length == 0,
            message.descriptor_count == 1
        else { return nil }
        return OwnedDescriptor(taking: numbers[0])
    }

    func stream() throws -> OwnedDescriptor? {
        guard waitReadable(streams) else { return nil }
        return OwnedDescriptor(taking: try check("accept a stream") { wd_stream_accept(streams.number) })
    }
}
