// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// Decides which clients of a ``TextServer`` have a place, and for how long.
///
/// Few places are enough for scrapers, which ask at once and read what they get. Clients that do not must not keep them
/// away: whoever takes long for a step loses the place, at a deadline or as soon as somebody else needs it. Pure: time is
/// passed in.
struct TextSeats: Hashable, Sendable {
    /// Who is at the other end: an IPv4 address, or the network of an IPv6 address, in which one host has many.
    struct Peer: Hashable, Sendable {
        let network: [UInt8]

        /// - Parameter address: 4 or 16 bytes; nil if it is unknown.
        init(_ address: [UInt8]?) {
            let bytes = address ?? []
            let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
            network = bytes.count != 16 ? bytes : Array(bytes.starts(with: mapped) ? bytes.suffix(4) : bytes.prefix(8))
        }
    }

    /// How far a client has come.
    enum Stage: Hashable, Sendable {
        /// It has sent nothing.
        case silent
        /// Its request is incomplete.
        case asking
        /// Its request is complete, and the text is not there yet.
        case waiting
        /// Its answer is being sent.
        case answered
    }

    /// One client.
    struct Seat: Hashable, Sendable {
        let peer: Peer
        let since: Instant
        var stage = Stage.silent
        /// When the last part of the answer was sent.
        var movedAt: Instant

        init(_ peer: Peer, at now: Instant) {
            (self.peer, since, movedAt) = (peer, now, now)
        }
    }

    /// What happens to a client that arrives.
    enum Arrival: Hashable, Sendable {
        /// It has a place.
        case admitted
        /// It has the place of the client at this index.
        case instead(of: Int)
        /// There is none.
        case refused
    }

    let limits: TextServer.Limits

    /// When a client loses its place, whether or not anybody needs it.
    func deadline(of seat: Seat) -> Instant {
        let end = seat.since + limits.patience
        return switch seat.stage {
        case .silent: min(end, seat.since + limits.firstByte)
        case .asking: min(end, seat.since + limits.request)
        case .waiting, .answered: end
        }
    }

    /// Finds a place for a client.
    ///
    /// - Parameter seats: those that are taken.
    func place(for peer: Peer, among seats: [Seat], at now: Instant) -> Arrival {
        let own = seats.indices.filter { seats[$0].peer == peer }
        let isGreedy = own.count >= limits.connectionsPerPeer
        guard isGreedy || seats.count >= limits.connections else { return .admitted }
        // Another peer's place is taken only if it has at least as many: who comes often displaces itself.
        let counts = Dictionary(seats.map { ($0.peer, 1) }, uniquingKeysWith: +)
        let candidates = (isGreedy ? own : Array(seats.indices)).filter { index in
            isIdle(seats[index], at: now) && counts[seats[index].peer, default: 0] >= own.count
        }
        let most = candidates.map { counts[seats[$0].peer, default: 0] }.max()
        let oldest = candidates.filter { counts[seats[$0].peer, default: 0] == most }.min {
            seats[$0].since < seats[$1].since
        }
        return oldest.map { .instead(of: $0) } ?? .refused
    }

    /// Whether a client keeps its place without using it; what it sends piece by piece is no use.
    private func isIdle(_ seat: Seat, at now: Instant) -> Bool {
        switch seat.stage {
        case .silent, .asking: true
        case .waiting: false
        case .answered: now - seat.movedAt >= limits.stall
        }
    }
}
