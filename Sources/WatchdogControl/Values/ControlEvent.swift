// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// Something that happened, for those who watch.
public struct ControlEvent: Hashable, Sendable, Codable {
    /// What kind of thing.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The name in the interface.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A process runs.
        public static let launched = Kind(rawValue: "launched")
        /// A process that ran already was taken over; its history is lost.
        public static let adopted = Kind(rawValue: "adopted")
        /// The launch is over.
        public static let ready = Kind(rawValue: "ready")
        /// The main loop answered again after a hang.
        public static let hung = Kind(rawValue: "hung")
        /// An allowance was extended for the machine's fault.
        public static let credited = Kind(rawValue: "credited")
        /// An allowance starts anew, as watchdogd or the machine slept.
        public static let rebased = Kind(rawValue: "rebased")
        /// An allowance stands still.
        public static let paused = Kind(rawValue: "paused")
        /// It runs again.
        public static let resumed = Kind(rawValue: "resumed")
        /// The app extended its allowance.
        public static let extended = Kind(rawValue: "extended")
        /// An extension did not count.
        public static let extensionRefused = Kind(rawValue: "extensionRefused")
        /// The app was asked to end, or said that it ends.
        public static let terminating = Kind(rawValue: "terminating")
        /// An allowance is exhausted.
        public static let exhausted = Kind(rawValue: "exhausted")
        /// The stacks could not be taken in time; it goes on without them.
        public static let captureFailed = Kind(rawValue: "captureFailed")
        /// A liveness probe failed.
        public static let probeFailed = Kind(rawValue: "probeFailed")
        /// The app answers its probes again, before its failures made an incident.
        public static let probeRecovered = Kind(rawValue: "probeRecovered")
        /// The app cannot be probed, by no fault of its own.
        public static let probeImpossible = Kind(rawValue: "probeImpossible")
        /// A report is written.
        public static let reported = Kind(rawValue: "reported")
        /// The app's channel is lost: its main loop is not watched any more.
        public static let channelLost = Kind(rawValue: "channelLost")
        /// The main process ended.
        public static let exited = Kind(rawValue: "exited")
        /// Processes of it ran on when its main process had exited with 0, and were ended.
        public static let leftBehind = Kind(rawValue: "leftBehind")
        /// Processes outlive SIGKILL.
        public static let unkillable = Kind(rawValue: "unkillable")
        /// The app is going to be started again.
        public static let restarting = Kind(rawValue: "restarting")
        /// The app is not started again: it has failed too often.
        public static let limitReached = Kind(rawValue: "limitReached")
        /// A process could not be started.
        public static let launchFailed = Kind(rawValue: "launchFailed")
        /// The app moved between foreground, background and suspension, or one of its background tasks is told of.
        public static let lifecycle = Kind(rawValue: "lifecycle")
        /// The configuration was read again.
        public static let reloaded = Kind(rawValue: "reloaded")
        /// An app has read its own configuration again.
        public static let appReloaded = Kind(rawValue: "appReloaded")
        /// An app could not be made to.
        public static let reloadFailed = Kind(rawValue: "reloadFailed")
    }

    /// Counts the events of this watchdogd from 1; filled in by ``ControlServer/publish(_:)``.
    public var sequence: Int
    /// When it happened.
    public var time: Timestamp
    /// The app; nil when it concerns all.
    public var app: String?
    /// What kind of thing happened.
    public var kind: Kind
    /// One line for people, without the app's name: "ready after 312 ms (notify)".
    public var message: String
    /// The process that it is about.
    public var pid: Int32?
    /// The report's path.
    public var report: String?

    /// Creates an event.
    public init(
        _ kind: Kind, app: String? = nil, message: String, time: Timestamp, pid: Int32? = nil, report: String? = nil,
        sequence: Int = 0
    ) {
        self.sequence = sequence
        self.time = time
        self.app = app
        self.kind = kind
        self.message = message
        self.pid = pid
        self.report = report
    }

    private enum CodingKeys: String, CodingKey {
        case sequence
        case time = "timeUSec"
        case app
        case kind
        case message
        case pid
        case report
    }
}

extension ControlEvent.Kind {
    /// The kind of a notice.
    public init(_ notice: Notice) {
        self =
            switch notice {
            case .launched: .launched
            case .adopted: .adopted
            case .ready: .ready
            case .hung: .hung
            case .starvationCredit: .credited
            case .overslept, .machineResumed: .rebased
            case .paused: .paused
            case .resumed: .resumed
            case .extended: .extended
            case .extensionRefused: .extensionRefused
            case .terminating: .terminating
            case .transgressed: .exhausted
            case .captureTimedOut: .captureFailed
            case .channelLost: .channelLost
            case .exited: .exited
            case .unkillable: .unkillable
            case .probe(.failed): .probeFailed
            case .probe(.recovered): .probeRecovered
            case .probe(.impossible): .probeImpossible
            case .probe(.overslept): .rebased
            case .probe(.credited): .credited
            case .probe(.paused): .paused
            case .probe(.resumed): .resumed
            case .lifecycle: .lifecycle
            }
    }
}
