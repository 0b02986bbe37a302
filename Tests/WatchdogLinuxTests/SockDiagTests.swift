// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Testing

@testable import WatchdogLinux

/// A netlink message as the kernel sends it: netlink(7).
private struct Message {
    var type: UInt16
    var flags: UInt16 = 2  // NLM_F_MULTI
    var sequence: UInt32 = 7
    var body: [UInt8] = []
    /// The excess of the claimed length over the real one, modulo 2³².
    var excess: UInt32 = 0

    /// A socket, identified by its number.
    static func socket(_ number: UInt32, flags: UInt16 = 2, sequence: UInt32 = 7) -> Message {
        Message(type: 20, flags: flags, sequence: sequence, body: bytes(number))
    }

    static func done(_ result: Int32 = 0, sequence: UInt32 = 7) -> Message {
        Message(type: 3, sequence: sequence, body: bytes(result))
    }

    /// An error with the header of its request.
    static func error(_ number: Int32) -> Message {
        Message(type: 2, flags: 0, body: bytes(number) + [UInt8](repeating: 0, count: 16))
    }

    /// The message in a datagram: the next one begins at a multiple of four bytes.
    var encoded: [UInt8] {
        let length = UInt32(16 + body.count)
        let header =
            Self.bytes(length &+ excess) + Self.bytes(type) + Self.bytes(flags) + Self.bytes(sequence)
            + Self.bytes(UInt32(0))
        return header + body + [UInt8](repeating: 0, count: -body.count & 3)
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }
}

/// The result of reading an answer.
private struct Reading: Equatable, CustomStringConvertible {
    var numbers: [UInt32]
    /// Nil if it was read completely.
    var error: Int32?

    var description: String { "\(numbers) \(error.map { String(cString: strerror($0)) } ?? "ended")" }
}

@Suite("Answers of sock_diag")
struct SockDiagTests {
    /// Collects the results of the callback.
    private final class Collection {
        var numbers: [UInt32] = []
        let wanted: Int
        init(wanted: Int) { self.wanted = wanted }
    }

    /// Reads an answer from the other end of a socket instead of from the kernel.
    private func read(_ datagrams: [[UInt8]], wanted: Int = .max, limit: UInt32 = 16) throws -> Reading {
        var ends: [Int32] = [-1, -1]
        try #require(wd_socket_pair(&ends) == 0)
        let (kernel, netlink) = (OwnedDescriptor(taking: ends[0]), OwnedDescriptor(taking: ends[1]))
        for datagram in datagrams {
            try #require(send(kernel.number, datagram, datagram.count, 0) == datagram.count)
        }
        let collection = Collection(wanted: wanted)
        var answer = wd_sock_diag_answer()
        answer.least = 4
        answer.limit = limit
        answer.context = Unmanaged.passUnretained(collection).toOpaque()
        answer.take = { message, length, context in
            guard let message, let context, length >= 4 else { return false }
            let collection = Unmanaged<Collection>.fromOpaque(context).takeUnretainedValue()
            collection.numbers.append(message.loadUnaligned(as: UInt32.self))
            return collection.numbers.count < collection.wanted
        }
        let result = wd_sock_diag_read(netlink.number, 7, &answer)
        let error = errno
        return withExtendedLifetime(collection) {
            Reading(numbers: collection.numbers, error: result == 0 ? nil : error)
        }
    }

    private func read(_ messages: Message..., wanted: Int = .max) throws -> Reading {
        try read([messages.flatMap(\.encoded)], wanted: wanted)
    }

    @Test("an answer in several messages and datagrams is read to its end, and no further")
    func several() throws {
        let datagrams: [[Message]] = [
            [.socket(1), Message(type: 1), .socket(2)], [.socket(3)], [.done(), .socket(4)], [.socket(5)],
        ]
        #expect(try read(datagrams.map { $0.flatMap(\.encoded) }) == Reading(numbers: [1, 2, 3]))
    }

    @Test("the answer about one socket is one message, without an end marker")
    func single() throws {
        #expect(try read(.socket(1, flags: 0), .socket(2, flags: 0)) == Reading(numbers: [1]))
    }

    @Test("nothing is read after the wanted sockets")
    func enough() throws {
        #expect(try read(.socket(1), .socket(2), .socket(3), wanted: 2) == Reading(numbers: [1, 2]))
    }

    @Test("the rest of an older answer is skipped, including its end")
    func stale() throws {
        #expect(
            try read(.socket(8, sequence: 6), .done(sequence: 6), .socket(1), .done()) == Reading(numbers: [1]))
    }

    @Test("a kernel error is reported as such, after the preceding messages")
    func errors() throws {
        #expect(try read(.error(-ENOENT)) == Reading(numbers: [], error: ENOENT))
        #expect(try read(.socket(1), .error(-EPERM), .socket(2)) == Reading(numbers: [1], error: EPERM))
        #expect(try read(.socket(1), .done(-EINVAL)) == Reading(numbers: [1], error: EINVAL))
        // An acknowledgment that was not requested, and an error without a reason.
        #expect(try read(.error(0)) == Reading(numbers: [], error: EPROTO))
        #expect(try read(Message(type: 2)) == Reading(numbers: [], error: EPROTO))
    }

    @Test("a list that changed during the read is reported as such, once it has ended")
    func interrupted() throws {
        #expect(try read(.socket(1, flags: 2 | 16), .socket(2), .done()) == Reading(numbers: [1, 2], error: EINTR))
    }

    @Test("a message that is truncated, too short or of another kind is rejected, after the preceding messages")
    func malformed() throws {
        let refused = Reading(numbers: [1], error: EPROTO)
        #expect(try read(.socket(1), Message(type: 20, body: [0, 0, 0])) == refused)
        #expect(try read(.socket(1), Message(type: 20, body: [2, 0, 0, 0], excess: 1)) == refused)
        #expect(try read(.socket(1), Message(type: 16, body: [2, 0, 0, 0])) == refused)
        var lying = Message.socket(2)
        lying.excess = 0 &- 5  // 15: one byte less than a header.
        #expect(try read(.socket(1), lying) == refused)
        let whole = Message.socket(1).encoded
        #expect(try read([whole + Message.done().encoded.dropLast(5)]) == refused)
        #expect(try read([whole, Array(whole.prefix(15))]) == refused)
        #expect(try read([whole + whole.prefix(3)]) == refused)
    }

    @Test("a datagram longer than the kernel's longest is rejected; the longest is read")
    func size() throws {
        func datagram(_ count: Int) -> [UInt8] {
            Message(type: 20, flags: 0, body: [1, 0, 0, 0] + [UInt8](repeating: 0, count: count - 20)).encoded
        }
        #expect(try read([datagram(32_768)]) == Reading(numbers: [1]))
        #expect(try read([datagram(32_772)]) == Reading(numbers: [], error: EPROTO))
    }

    @Test("an answer with more datagrams than the limit is rejected; one at the limit is read")
    func limit() throws {
        let datagrams = [Message.socket(1), .socket(2), .done()].map(\.encoded)
        #expect(try read(datagrams, limit: 3) == Reading(numbers: [1, 2]))
        #expect(try read(datagrams, limit: 2) == Reading(numbers: [1, 2], error: EMSGSIZE))
    }

    @Test("a missing answer is not awaited")
    func absent() throws {
        #expect(try read([Message.socket(1).encoded]) == Reading(numbers: [1], error: EAGAIN))
    }
}
