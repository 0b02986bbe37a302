// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// One client of a ``TextServer``: a request, and its answer.
///
/// Isolation: the server's thread.
final class TextConnection {
    enum Phase {
        /// The head of the request is incomplete.
        case reading
        /// The request is complete, and there is no text yet.
        case waiting
        /// The answer is being sent.
        case writing
        /// Over.
        case done
    }

    let descriptor: OwnedDescriptor
    /// The place that it takes.
    private(set) var seat: TextSeats.Seat
    private(set) var phase = Phase.reading
    /// Whether the client wants no body.
    private var isHead = false
    /// The text that is being sent.
    private(set) var generation: Int?
    private var input: [UInt8] = []
    private var head: [UInt8] = []
    private var body: [UInt8] = []
    private var sent = 0

    /// Takes over a connection that was accepted at `now`.
    init(_ descriptor: OwnedDescriptor, at now: Instant) {
        self.descriptor = descriptor
        seat = TextSeats.Seat(TextSeats.Peer(Self.address(descriptor)), at: now)
    }

    /// The bytes of the client's address.
    private static func address(_ descriptor: OwnedDescriptor) -> [UInt8]? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getpeername(descriptor.number, address, &size) == 0 else { return nil }
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(size))
                return switch Int32(address.pointee.sa_family) {
                case AF_INET:
                    MemoryLayout<sockaddr_in>.offset(of: \.sin_addr).map { Array(bytes.dropFirst($0).prefix(4)) }
                case AF_INET6:
                    MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr).map { Array(bytes.dropFirst($0).prefix(16)) }
                default: nil
                }
            }
        }
    }

    /// What poll(2) waits for.
    var events: Int16 {
        switch phase {
        case .reading: Int16(POLLIN)
        case .writing: Int16(POLLOUT)
        // Only a hang-up counts.
        case .waiting, .done: 0
        }
    }

    /// Reads once; a client that goes away before its request is complete is done.
    func receive(limit: Int) -> HTTPRequest {
        let start = input.count
        var length = 0
        input.append(contentsOf: repeatElement(0, count: limit - start))
        input.withUnsafeMutableBytes { buffer in
            // The socket does not block, and TCP carries no descriptors.
            length = read(descriptor.number, buffer.baseAddress.map { $0 + start }, limit - start)
        }
        let error = errno
        input.removeLast(limit - start - max(0, length))
        guard length > 0 else {
            if length == 0 || (error != EAGAIN && error != EINTR) { phase = .done }
            return .incomplete
        }
        seat.stage = .asking
        let request = HTTPRequest(input, limit: limit)
        if case .head = request { isHead = true }
        return request
    }

    /// Waits for the text.
    func wait() {
        phase = .waiting
        seat.stage = .waiting
        input = []
    }

    /// Begins the answer.
    func answer(_ head: [UInt8], _ body: [UInt8], generation: Int? = nil, at now: Instant) {
        (self.head, self.body, self.generation) = (head, isHead ? [] : body, generation)
        phase = .writing
        (seat.stage, seat.movedAt) = (.answered, now)
        input = []
        send(at: now)
    }

    /// Sends as much as fits without waiting.
    func send(at now: Instant) {
        while case .writing = phase {
            let isHead = sent < head.count
            let bytes = isHead ? head : body
            let start = isHead ? sent : sent - head.count
            guard start < bytes.count else {
                finish()
                return
            }
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            let length = bytes.withUnsafeBytes {
                Glibc.send(descriptor.number, $0.baseAddress.map { $0 + start }, bytes.count - start, flags)
            }
            if length > 0 {
                sent += length
                seat.movedAt = now
            } else if length < 0, errno == EINTR {
                continue
            } else {
                if length < 0, errno != EAGAIN { end() }
                return
            }
        }
    }

    private func finish() {
        shutdown(descriptor.number, Int32(SHUT_WR))
        end()
    }

    func end() {
        phase = .done
        (body, generation) = ([], nil)
    }
}
