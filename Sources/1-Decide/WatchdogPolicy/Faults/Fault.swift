// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// A fault that `watchdogd run --fault` injects into one launch, and when.
public struct Fault: Hashable, Sendable, CustomStringConvertible {
    /// What goes wrong.
    public enum Kind: Hashable, Sendable, CustomStringConvertible {
        /// SIGSTOP stops the main process, and SIGCONT continues it.
        case stop
        /// This many processes beside the app compute without a pause.
        case cpu(processes: Int)
        /// The app gets at most this share of one CPU, in percent.
        case cpuQuota(percent: Int)
        /// The app gets at most this much memory, in bytes.
        case memory(UInt64)
        /// An empty disk is mounted over this folder at the launch, and becomes full later.
        case diskFull(String)
        /// The app blocks its own main loop, because the channel asks it to.
        case mainHang
        /// All processes of the app together read and write at most this many bytes per second on each disk.
        case ioSlow(bytesPerSecond: UInt64)
        /// Something is wrong with the network between the app and everything else.
        case network(Network)
        /// The app's monotonic and boot-time clocks are ahead by this much.
        case clock(ahead: Duration)
        /// SIGKILL ends watchdogd itself.
        case killWatchdogd

        /// The fault as it is written on the command line.
        public var description: String {
            switch self {
            case .stop: "stop"
            case .cpu(let processes): "cpu \(processes)"
            case .cpuQuota(let percent): "cpu-quota \(percent)%"
            case .memory(let bytes): "memory \(Self.size(bytes))"
            case .diskFull(let folder): "disk-full \(folder)"
            case .mainHang: "main-hang"
            case .ioSlow(let bytes): "io-slow \(Self.size(bytes))"
            case .network(let network): "network \(network)"
            case .clock(let ahead): "clock +\(TimeSpan.format(ahead))"
            case .killWatchdogd: "kill-watchdogd"
            }
        }

        /// Whether the fault is a limit that holds for all of the launch.
        public var isLimit: Bool {
            switch self {
            case .cpuQuota, .memory, .clock: true
            case .stop, .cpu, .diskFull, .mainHang, .ioSlow, .network, .killWatchdogd: false
            }
        }

        /// Whether the fault has a length of its own: `stop 2s`.
        public var hasLength: Bool {
            switch self {
            case .stop, .mainHang, .network(.cut): true
            case .cpu, .cpuQuota, .memory, .diskFull, .ioSlow, .network, .clock, .killWatchdogd: false
            }
        }

        /// Whether the fault must be prepared before the app is launched.
        public var needsPreparation: Bool {
            switch self {
            case .stop, .mainHang, .cpu, .killWatchdogd: false
            case .cpuQuota, .memory, .diskFull, .ioSlow, .network, .clock: true
            }
        }

        private static func size(_ bytes: UInt64) -> String {
            for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] where bytes % (1 << shift) == 0 {
                return "\(bytes >> shift)\(unit)"
            }
            return "\(bytes)"
        }
    }

    /// What is wrong with the network.
    public enum Network: Hashable, Sendable, CustomStringConvertible {
        /// The link has the bandwidth, delay and loss of a profile of this name.
        case profile(String)
        /// This share of all packets is lost, in percent.
        case loss(percent: Int)
        /// Each answer of a name server takes this much longer.
        case dnsDelay(Duration)
        /// All packets are lost.
        case cut

        /// The fault as it is written on the command line.
        public var description: String {
            switch self {
            case .profile(let name): name
            case .loss(let percent): "loss \(percent)%"
            case .dnsDelay(let delay): "dns-delay \(TimeSpan.format(delay))"
            case .cut: "cut"
            }
        }
    }

    /// A moment of the launch, and the time after it.
    public struct Moment: Hashable, Sendable, CustomStringConvertible {
        /// What the time counts from.
        public enum Origin: String, CaseIterable, Sendable {
            /// The program runs.
            case launch
            /// The app is ready.
            case ready
        }

        /// What the time counts from.
        public var origin: Origin
        /// The time after it.
        public var delay: Duration

        /// Creates a moment.
        public init(_ origin: Origin, delay: Duration = .zero) {
            (self.origin, self.delay) = (origin, delay)
        }

        /// The moment as it is written on the command line.
        public var description: String {
            origin.rawValue + (delay > .zero ? "+\(TimeSpan.format(delay))" : "")
        }
    }

    /// What goes wrong.
    public var kind: Kind
    /// When it begins.
    public var moment: Moment
    /// How long it lasts; nil until the app has ended.
    public var duration: Duration?

    /// Creates a fault.
    public init(_ kind: Kind, at moment: Moment, for duration: Duration? = nil) {
        (self.kind, self.moment, self.duration) = (kind, moment, duration)
    }

    /// The fault in its full form, which can be parsed again.
    public var description: String {
        switch duration {
        case let duration? where kind.hasLength: "\(kind) \(TimeSpan.format(duration)) at \(moment)"
        case let duration?: "\(kind) at \(moment) for \(TimeSpan.format(duration))"
        case nil: kind.isLimit ? "\(kind)" : "\(kind) at \(moment)"
        }
    }
}
