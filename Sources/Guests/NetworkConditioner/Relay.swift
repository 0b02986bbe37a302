// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

/// One relayed connection: both sockets, and the bytes in flight between them.
struct Relay {
    /// One direction of the connection.
    struct Lane {
        /// The maximum number of bytes in flight.
        let window: Int
        var payload = ByteQueue()
        /// The number of bytes that have arrived and may be written.
        var deliverable = 0
        /// Whether the source has closed its side.
        var isSourceAtEnd = false
        /// Whether the end of the stream has arrived.
        var isEndDue = false
        /// Whether the sink's side was shut down.
        var isClosed = false

        var room: Int { isSourceAtEnd ? 0 : window - payload.count }
        var wantsToWrite: Bool { !isClosed && (deliverable > 0 || isEndDue) }
    }

    enum Outcome {
        case some(Int)
        case end
        case nothing
        case failed
    }

    let client: Int32
    let server: Int32
    var isConnected = false
    var up: Lane
    var down: Lane

    init(client: Int32, server: Int32, over profile: LinkProfile) {
        (self.client, self.server) = (client, server)
        up = Lane(window: profile.uplink.window)
        down = Lane(window: profile.downlink.window)
    }

    var isDone: Bool { up.isClosed && down.isClosed }

    /// Reads from the source of a lane until its window is full.
    static func read(from descriptor: Int32, into lane: inout Lane) -> Outcome {
        let room = lane.room
        guard room > 0 else { return .nothing }
        return withUnsafeTemporaryAllocation(byteCount: min(room, 16384), alignment: 1) { buffer in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            switch (count, errno) {
            case (1..., _):
                lane.payload.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return .some(count)
            case (0, _):
                lane.isSourceAtEnd = true
                return .end
            case (_, EAGAIN), (_, EINTR):
                return .nothing
            default:
                return .failed
            }
        }
    }

    /// Writes the arrived bytes to the sink of a lane, and shuts it down at the end; false if the sink is gone.
    static func write(to descriptor: Int32, from lane: inout Lane) -> Bool {
        while lane.deliverable > 0 {
            let count = lane.payload.consume(upTo: lane.deliverable) { bytes in
                send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return errno == EAGAIN || errno == EINTR }
            lane.deliverable -= count
        }
        if lane.isEndDue, !lane.isClosed {
            lane.isClosed = true
            shutdown(descriptor, Int32(SHUT_WR))
        }
        return true
    }

    /// Closes both sides.
    ///
    /// - Parameter isReset: Whether both sides receive RST instead of FIN.
    func close(isReset: Bool) {
        for descriptor in [client, server] {
            if isReset {
                // With a linger time of zero, close(2) discards unsent data and sends RST.
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            }
            Glibc.close(descriptor)
        }
    }
}

/// A FIFO queue of bytes.
struct ByteQueue {
    private var bytes: [UInt8] = []
    private var first = 0

    var count: Int { bytes.count - first }

    mutating func append(_ slice: some Sequence<UInt8>) {
        bytes.append(contentsOf: slice)
    }

    /// Passes the first `limit` bytes to `body`, and removes as many as it returns.
    mutating func consume(upTo limit: Int, _ body: (UnsafeRawBufferPointer) -> Int) -> Int {
        let used = bytes.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[first..<first + min(limit, count)]))
        }
        first += max(0, used)
        if first == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 1 << 16 {
            bytes.removeFirst(first)
            first = 0
        }
        return used
    }
}
