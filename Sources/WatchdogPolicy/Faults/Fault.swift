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
        /// An empty disk lies over this folder from the launch on, and later is full.
        case diskFull(String)

        /// The fault as it is written on the command line.
        public var description: String {
            switch self {
            case .stop: "stop"
            case .cpu(let processes): "cpu \(processes)"
            case .cpuQuota(let percent): "cpu-quota \(percent)%"
            case .memory(let bytes): "memory \(Self.size(bytes))"
            case .diskFull(let folder): "disk-full \(folder)"
            }
        }

        /// Whether the fault is a limit that holds for all of the launch.
        public var isLimit: Bool {
            switch self {
            case .cpuQuota, .memory: true
            case .stop, .cpu, .diskFull: false
            }
        }

        private static func size(_ bytes: UInt64) -> String {
            for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] where bytes % (1 << shift) == 0 {
                return "\(bytes >> shift)\(unit)"
            }
            return "\(bytes)"
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
        switch (kind, duration) {
        case (.stop, let duration?): "stop \(TimeSpan.format(duration)) at \(moment)"
        case (_, let duration?): "\(kind) at \(moment) for \(TimeSpan.format(duration))"
        case (_, nil): kind.isLimit ? "\(kind)" : "\(kind) at \(moment)"
        }
    }
}
