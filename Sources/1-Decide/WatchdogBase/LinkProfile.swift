// SPDX-License-Identifier: Apache-2.0

/// The properties of a network link.
package struct LinkProfile: Hashable, Sendable {
    /// One direction of a link.
    package struct Direction: Hashable, Sendable {
        /// The bandwidth; nil for no limit.
        package var bytesPerSecond: Int?
        /// The one-way delay.
        package var delay: Duration
        /// The fraction of segments that are lost, 0 to 1.
        package var loss: Double

        package init(bytesPerSecond: Int? = nil, delay: Duration = .zero, loss: Double = 0) {
            self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
            self.delay = max(.zero, delay)
            self.loss = min(1, max(0, loss))
        }

        /// The maximum number of bytes of one connection in flight: twice the bandwidth-delay product, and at least a
        /// socket's buffer.
        package var window: Int {
            let (least, most) = (1 << 16, 1 << 20)
            guard let bytesPerSecond else { return delay > .zero ? most : least }
            let seconds = Double(delay.components.seconds) + Double(delay.components.attoseconds) / 1e18
            return Int(min(Double(most), max(Double(least), 2 * Double(bytesPerSecond) * seconds)))
        }

        /// Whether the link loses every segment.
        package var isDead: Bool { loss >= 1 }
    }

    package var name: String
    /// Toward the client.
    package var downlink: Direction
    /// Toward the server.
    package var uplink: Direction
    /// The time until a sender repeats its first lost segment; it doubles with each consecutive loss.
    package var retransmission: Duration

    /// A link whose senders wait two round trips for an acknowledgment, but at least as long as Linux (TCP_RTO_MIN, 200 ms).
    package init(_ name: String, downlink: Direction, uplink: Direction) {
        self.name = name
        self.downlink = downlink
        self.uplink = uplink
        retransmission = max(.milliseconds(200), (downlink.delay + uplink.delay) * 2)
    }

    package var roundTrip: Duration { downlink.delay + uplink.delay }

    /// The same link with some properties replaced, in both directions.
    package func with(delay: Duration? = nil, kilobitsPerSecond: Double? = nil, loss: Double? = nil) -> LinkProfile {
        func changed(_ direction: Direction) -> Direction {
            let rate = kilobitsPerSecond.map { Int($0 * 125) } ?? direction.bytesPerSecond
            return Direction(bytesPerSecond: rate, delay: delay ?? direction.delay, loss: loss ?? direction.loss)
        }
        return LinkProfile(name, downlink: changed(downlink), uplink: changed(uplink))
    }

    /// The same link with all times multiplied by a factor.
    package func scaled(by factor: Double) -> LinkProfile {
        var copy = self
        copy.downlink = downlink.scaled(by: factor)
        copy.uplink = uplink.scaled(by: factor)
        copy.retransmission = retransmission * factor
        return copy
    }
}

extension LinkProfile.Direction {
    fileprivate func scaled(by factor: Double) -> Self {
        let rate = bytesPerSecond.map { Int(min(Double($0) / factor, 1e15)) }
        return Self(bytesPerSecond: rate, delay: delay * factor, loss: loss)
    }

    fileprivate init(kilobits: Int, milliseconds: Int, loss: Double = 0) {
        self.init(bytesPerSecond: kilobits * 125, delay: .milliseconds(milliseconds), loss: loss)
    }
}

// MARK: - Presets

extension LinkProfile {
    /// A link that changes nothing.
    package static let perfect = LinkProfile("perfect", downlink: Direction(), uplink: Direction())

    /// Names and figures are those of Apple's Network Link Conditioner.
    package static let presets: [LinkProfile] = [
        perfect,
        LinkProfile(
            "wifi",
            downlink: Direction(kilobits: 40_000, milliseconds: 1),
            uplink: Direction(kilobits: 33_000, milliseconds: 1)
        ),
        LinkProfile(
            "lte",
            downlink: Direction(kilobits: 50_000, milliseconds: 50),
            uplink: Direction(kilobits: 10_000, milliseconds: 65)
        ),
        LinkProfile(
            "dsl",
            downlink: Direction(kilobits: 2_000, milliseconds: 5),
            uplink: Direction(kilobits: 256, milliseconds: 5)
        ),
        LinkProfile(
            "3g",
            downlink: Direction(kilobits: 780, milliseconds: 100),
            uplink: Direction(kilobits: 330, milliseconds: 100)
        ),
        LinkProfile(
            "edge",
            downlink: Direction(kilobits: 240, milliseconds: 400),
            uplink: Direction(kilobits: 200, milliseconds: 440)
        ),
        LinkProfile(
            "very-bad-network",
            downlink: Direction(kilobits: 1_000, milliseconds: 500, loss: 0.1),
            uplink: Direction(kilobits: 1_000, milliseconds: 500, loss: 0.1)
        ),
        LinkProfile("100-percent-loss", downlink: Direction(loss: 1), uplink: Direction(loss: 1)),
    ]

    /// An unknown preset, with the names of the presets.
    package struct UnknownName: Error, Equatable, CustomStringConvertible {
        package let name: String

        package var description: String {
            "unknown profile '\(name)'; use one of \(LinkProfile.presets.map(\.name).joined(separator: ", "))"
        }
    }

    package static func named(_ name: String) throws(UnknownName) -> LinkProfile {
        guard let profile = presets.first(where: { $0.name == name.lowercased() }) else {
            throw UnknownName(name: name)
        }
        return profile
    }
}
