// SPDX-License-Identifier: Apache-2.0

import CLinux
import Testing

@testable import WatchdogLinux

/// A substitute for the process that forks examiners and copiers: it gives the test the socket of each.
final class ScriptedSource: Sendable {
    let end: OwnedDescriptor
    private let own: OwnedDescriptor

    init() throws {
        var ends: [Int32] = [-1, -1]
        try #require(wd_socket_pair(&ends) == 0)
        end = OwnedDescriptor(taking: ends[0])
        own = OwnedDescriptor(taking: ends[1])
    }

    /// The sockets of those requested since the last call.
    func sockets(of reader: ForkedReader) -> [OwnedDescriptor] {
        var sockets: [OwnedDescriptor] = []
        var numbers = [Int32](repeating: -1, count: WD_SOCKET_MOST_DESCRIPTORS)
        var message = wd_socket_message()
        var byte: UInt8 = 0
        while wd_socket_receive(own.number, &byte, 1, &message, &numbers) == 0, !message.end {
            #expect(byte == reader.rawValue)
            sockets += numbers.prefix(message.descriptor_count).map { OwnedDescriptor(taking: $0) }
        }
        return sockets
    }
}
