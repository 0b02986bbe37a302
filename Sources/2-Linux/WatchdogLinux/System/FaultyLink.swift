// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import WatchdogBase

/// The only way out of a network of this process's own, which can be as bad as a test wants.
///
/// Programs reach IPv4 addresses through it; `10.0.2.2` stands for the loopback of the machine.
///
/// Isolation: one thread at a time. The link breaks when the thread that made it ends.
public final class FaultyLink {
    /// One direction.
    public struct Lane: Hashable, Sendable {
        /// Nil for as much as the machine can do.
        public var bytesPerSecond: Int?
        /// The time from one end to the other.
        public var delay: Duration
        /// The share of packets that are lost, 0 to 1.
        public var loss: Double

        /// Creates a direction; by default, nothing is wrong with it.
        public init(bytesPerSecond: Int? = nil, delay: Duration = .zero, loss: Double = 0) {
            (self.bytesPerSecond, self.delay, self.loss) = (bytesPerSecond, delay, loss)
        }
    }

    /// What is wrong with a link.
    public struct Conditions: Hashable, Sendable {
        /// Towards the network.
        public var up = Lane()
        /// Towards the program.
        public var down = Lane()
        /// How much longer name servers take.
        public var nameDelay: Duration = .zero
        /// Whether nothing passes.
        public var isCut = false

        /// Nothing is wrong.
        public init() {}
    }

    /// Why there is no link.
    public struct Unavailable: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason, and what to do.
        public let description: String
    }

    private let socket: OwnedDescriptor

    /// Moves this process, and what it starts from now on, to a network of its own with a link that works.
    ///
    /// Without `CAP_SYS_ADMIN`, the process also gets a user namespace. It must have only one thread.
    public init() throws(Unavailable) {
        var step = WD_LINK_DONE
        let number = wd_link_start(&step)
        guard number >= 0 else {
            let reason = Errno.current
            let words =
                switch step {
                case WD_LINK_LIBRARY: "libslirp.so.0 is missing; on Debian, install libslirp0"
                case WD_LINK_NAMESPACE: "cannot create a network namespace: \(reason)"
                case WD_LINK_DEVICE: "cannot create a network device with /dev/net/tun: \(reason)"
                case WD_LINK_ADDRESS: "cannot set up the network device: \(reason)"
                default: "cannot start the process of the link: \(reason)"
                }
            throw Unavailable(description: words)
        }
        socket = OwnedDescriptor(taking: number)
    }

    /// Has programs ask the link's name server, in a mount namespace of this process's own.
    ///
    /// Call ``SmallDisk/enterPrivateMounts()`` before.
    public func mountNames() throws(LinuxError) {
        _ = try check("mount a file over /etc/resolv.conf") { wd_link_mount_names() }
    }

    /// Makes the link this bad from now on; packets that are on their way keep their delay.
    public func apply(_ conditions: Conditions) throws(LinuxError) {
        var message = wd_link_conditions()
        (message.up, message.down) = (wd_link_lane(conditions.up), wd_link_lane(conditions.down))
        message.name_delay = UInt64(clamping: conditions.nameDelay.nanoseconds)
        message.is_cut = conditions.isCut
        _ = try check("change the link") {
            send(socket.number, &message, MemoryLayout.size(ofValue: message), Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
        }
    }
}

extension wd_link_lane {
    fileprivate init(_ lane: FaultyLink.Lane) {
        self.init()
        bytes_per_second = UInt64(max(0, lane.bytesPerSecond ?? 0))
        delay = UInt64(clamping: lane.delay.nanoseconds)
        loss = UInt32(min(1, max(0, lane.loss)) * 1e6)
    }
}
