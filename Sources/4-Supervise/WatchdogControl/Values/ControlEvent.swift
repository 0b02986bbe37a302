// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// An event for monitoring clients.
public struct ControlEvent: Hashable, Sendable, Codable {
    /// The kind of event.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        /// The name in the interface.
        public let rawValue: String

        /// Creates a kind from its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A process is running.
        public static let launched = Kind(rawValue: "launched")
        /// A running process was adopted; its history is lost.
        public static let adopted = Kind(rawValue: "adopted")
        /// The launch is complete.
        public static let ready = Kind(rawValue: "ready")
        /// The app reported its first frame, that it does its actual work, or the end of its launch's last task.
        public static let marked = Kind(rawValue: "marked")
        /// Half of an allowance has passed, and the app has not met its obligation yet.
        public static let slow = Kind(rawValue: "slow")
        /// The main loop answered again after a hang.
        public static let hung = Kind(rawValue: "hung")
        /// An allowance was extended by a credit because the machine was at fault.
        public static let credited = Kind(rawValue: "credited")
        /// An allowance started over because watchdogd overslept or the machine was suspended.
        public static let rebased = Kind(rawValue: "rebased")
        /// An allowance was paused.
        public static let paused = Kind(rawValue: "paused")
        /// A paused allowance continues.
        public static let resumed = Kind(rawValue: "resumed")
        /// The app extended its allowance.
        public static let extended = Kind(rawValue: "extended")
        /// An extension was refused.
        public static let extensionRefused = Kind(rawValue: "extensionRefused")
        /// A message on the notify socket came from a process that is not the app's.
        public static let messageRefused = Kind(rawValue: "messageRefused")
        /// The app was requested to exit, or reported that it exits.
        public static let terminating = Kind(rawValue: "terminating")
        /// An allowance is exhausted.
        public static let exhausted = Kind(rawValue: "exhausted")
        /// The capture timed out; the kill or report continues without it.
        public static let captureFailed = Kind(rawValue: "captureFailed")
        /// A liveness probe failed.
        public static let probeFailed = Kind(rawValue: "probeFailed")
        /// The app answers its probes again after too few failures for an incident.
        public static let probeRecovered = Kind(rawValue: "probeRecovered")
        /// The app cannot be probed, which is not its fault.
        public static let probeImpossible = Kind(rawValue: "probeImpossible")
        /// A report was written.
        public static let reported = Kind(rawValue: "reported")
        /// The app's channel was lost: its main loop is no longer watched.
        public static let channelLost = Kind(rawValue: "channelLost")
        /// The main process ended.
        public static let exited = Kind(rawValue: "exited")
        /// Processes of the app remained when its main process exited with code 0, and were killed.
        public static let leftBehind = Kind(rawValue: "leftBehind")
        /// Processes survive SIGKILL.
        public static let unkillable = Kind(rawValue: "unkillable")
        /// The app will be restarted.
        public static let restarting = Kind(rawValue: "restarting")
        /// The app is not restarted because it has failed too often.
        public static let limitReached = Kind(rawValue: "limitReached")
        /// A new version of the app launches more slowly than the previous one.
        public static let launchRegressed = Kind(rawValue: "launchRegressed")
        /// A process could not be started.
        public static let launchFailed = Kind(rawValue: "launchFailed")
        /// The app changed its lifecycle state, or one of its background tasks is reported.
        public static let lifecycle = Kind(rawValue: "lifecycle")
        /// The configuration was reloaded.
        public static let reloaded = Kind(rawValue: "reloaded")
        /// An app reloaded its own configuration.
        public static let appReloaded = Kind(rawValue: "appReloaded")
        /// An app did not reload its own configuration.
        public static let reloadFailed = Kind(rawValue: "reloadFailed")
    }

    /// The number of the event in this watchdogd, from 1; set by ``ControlServer/publish(_:)``.
    public var sequence: Int
    /// The time of the event.
    public var time: Timestamp
    /// The app; nil for an event about all apps.
    public var app: String?
    /// The kind of event.
    public var kind: Kind
    /// One line to read, without the app's name: "ready after 312 ms (notify)".
    public var message: String
    /// The ID of the process.
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
            case .marked: .marked
            case .slow: .slow
            case .hung: .hung
            case .starvationCredit: .credited
            case .overslept, .machineResumed: .rebased
            case .paused: .paused
            case .resumed: .resumed
            case .extended: .extended
            case .extensionRefused: .extensionRefused
            case .messageRefused: .messageRefused
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
