// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

/// The rules on virtual time.
///
/// Siblings: clients that never read, that read a little, that are many addresses of one host, and a host with many
/// clients that all behave.
@Suite("Connection slots of a text server")
struct TextSeatsTests {
    private static let start = Instant.now()
    private static let tick = Duration.nanoseconds(1)

    private let limits = TextServer.Limits()
    private let seats = TextSeats(limits: TextServer.Limits())

    private func peer(_ number: Int) -> TextSeats.Peer {
        TextSeats.Peer([10, 0, UInt8(number / 256), UInt8(number % 256)])
    }

    private func seat(
        _ peer: TextSeats.Peer, _ stage: TextSeats.Stage = .silent, age: Duration = .zero
    ) -> TextSeats.Seat {
        var seat = TextSeats.Seat(peer, at: Self.start - age)
        seat.stage = stage
        return seat
    }

    @Test("each step has a deadline, which slow input does not extend")
    func deadlines() {
        let limit: [(TextSeats.Stage, Duration)] = [
            (.silent, limits.firstByte), (.asking, limits.request), (.waiting, limits.patience),
            (.answered, limits.patience),
        ]
        for (stage, duration) in limit {
            var seat = seat(peer(1), stage)
            seat.movedAt = Self.start + .seconds(1)
            #expect(seats.deadline(of: seat) == Self.start + duration, "\(stage)")
        }
        var short = limits
        short.patience = .milliseconds(10)
        for stage in [TextSeats.Stage.silent, .asking] {
            #expect(TextSeats(limits: short).deadline(of: seat(peer(1), stage)) == Self.start + short.patience)
        }
    }

    @Test("sixteen slow clients of any number of peers do not lock out a new one, which replaces the oldest")
    func slow() {
        for stage in [TextSeats.Stage.silent, .asking] {
            for peers in [2, 4, 16] {
                let taken = (0..<16).map { seat(peer($0 % peers), stage, age: .milliseconds(16 - $0)) }
                #expect(seats.place(for: peer(99), among: taken, at: Self.start) == .instead(of: 0), "\(peers)")
            }
        }
        let free = (0..<15).map { seat(peer($0)) }
        #expect(seats.place(for: peer(99), among: free, at: Self.start) == .admitted)
    }

    @Test("a client that reads nothing is idle after a time, and not before")
    func stalled() {
        var taken = (0..<16).map { seat(peer($0), .answered, age: .seconds(3)) }
        for index in taken.indices { taken[index].movedAt = Self.start }
        let limit = Self.start + limits.stall
        #expect(seats.place(for: peer(99), among: taken, at: limit - Self.tick) == .refused)
        #expect(seats.place(for: peer(99), among: taken, at: limit) == .instead(of: 0))
        taken[0].movedAt = limit
        #expect(seats.place(for: peer(99), among: taken, at: limit) == .instead(of: 1))
    }

    @Test("a peer may use half of the slots; beyond that, it displaces its own idle clients or is rejected")
    func greedy() {
        let idle = (0..<limits.connectionsPerPeer).map { seat(peer(1), age: .milliseconds(10 - $0)) }
        #expect(seats.place(for: peer(1), among: Array(idle.dropLast()), at: Self.start) == .admitted)
        #expect(seats.place(for: peer(1), among: idle, at: Self.start) == .instead(of: 0))
        #expect(seats.place(for: peer(2), among: idle, at: Self.start) == .admitted)
        let busy = idle.map { _ in seat(peer(1), .waiting) }
        #expect(seats.place(for: peer(1), among: busy, at: Self.start) == .refused)
    }

    @Test("a peer with many clients displaces its own first, and a client that waits for the text keeps its slot")
    func fairness() {
        var taken = [seat(peer(2), age: .seconds(1)), seat(peer(3), age: .seconds(1))]
        taken += (0..<7).map { seat(peer(1), age: .milliseconds(20 - $0)) }
        taken += (0..<7).map { seat(peer(4), .waiting, age: .milliseconds(20 - $0)) }
        #expect(seats.place(for: peer(1), among: taken, at: Self.start) == .instead(of: 2))
        #expect(seats.place(for: peer(9), among: taken, at: Self.start) == .instead(of: 2))
        // Only one client of the other peers is idle, and they have fewer.
        for index in 2..<9 { taken[index].stage = .waiting }
        #expect(seats.place(for: peer(1), among: taken, at: Self.start) == .refused)
        #expect(seats.place(for: peer(9), among: taken, at: Self.start) == .instead(of: 0))
    }

    @Test("a peer is an IPv4 address in any notation, or an IPv6 network")
    func peers() {
        let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 10, 0, 0, 1]
        #expect(TextSeats.Peer(mapped) == TextSeats.Peer([10, 0, 0, 1]))
        #expect(TextSeats.Peer([10, 0, 0, 1]) != TextSeats.Peer([10, 0, 0, 2]))
        func six(_ network: UInt8, _ host: UInt8) -> [UInt8] {
            [0x20, 1, 0, 0, 0, 0, 0, network] + [UInt8](repeating: host, count: 8)
        }
        #expect(TextSeats.Peer(six(1, 1)) == TextSeats.Peer(six(1, 2)))
        #expect(TextSeats.Peer(six(1, 1)) != TextSeats.Peer(six(2, 1)))
        #expect(TextSeats.Peer(nil) == TextSeats.Peer(nil))
    }
}
