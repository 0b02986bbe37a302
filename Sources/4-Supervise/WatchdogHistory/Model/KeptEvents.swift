// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A silence of an app.
public struct KeptHang: Equatable, Sendable {
    /// In place of a watched event: liveness probes failed until the app answered again.
    public static let probes = "probes"
    /// In place of a watched event: the main loop exhausted its allowance, and this was only reported.
    public static let reported = "reported"
    /// In place of a watched event: failed probes or the app's own request were reported, and nothing was killed.
    public static let reportedProbes = "reported-probes"

    /// The app's name.
    public var app: String
    /// The end of the silence, or the time of its judgement.
    public var time: WallTime
    /// The time for which the app did not answer.
    public var duration: Duration
    /// The watched event, such as `scene-update`, or one of the words above.
    public var event: String
    /// Whether the app was killed for it.
    public var isFatal: Bool
    /// The version of the program.
    public var version: ProgramVersion

    /// Whether the silence went on after a record with this event: its end has a record of its own.
    static func isUnfinished(event: String) -> Bool { event == reported || event == reportedProbes }

    /// Creates the record of a hang; times are stored in microseconds.
    public init(
        app: String, time: WallTime, duration: Duration, event: String, isFatal: Bool,
        version: ProgramVersion = ProgramVersion()
    ) {
        self.app = app
        self.time = time
        self.duration = duration
        self.event = event
        self.isFatal = isFatal
        self.version = version
    }
}

/// The end of an app's process.
public struct KeptTermination: Equatable, Sendable {
    /// The cause of a process's end, in the classes of Apple's `MXAppExitMetric`.
    public enum Reason: String, Sendable, CaseIterable {
        /// It exited with code 0, or on request.
        case normal
        /// It exited with another code, or a signal without its own class ended it.
        case abnormal
        /// SIGSEGV or SIGBUS ended it.
        case badAccess = "bad-access"
        /// SIGILL or SIGTRAP ended it.
        case illegalInstruction = "illegal-instruction"
        /// The kernel killed it because memory was exhausted.
        case memory
        /// watchdogd killed it because it missed a deadline.
        case watchdog
        /// watchdogd killed it because background tasks were still open.
        case backgroundTask = "background-task"
        /// watchdogd killed it because it used up its CPU time in the background.
        case cpuLimit = "cpu-limit"
        /// watchdogd killed it because it was suspended with a locked file.
        case lockedFile = "locked-file"
    }

    /// The app's name.
    public var app: String
    /// The time of the end.
    public var time: WallTime
    /// The cause of the end.
    public var reason: Reason
    /// Whether the app was in the foreground.
    public var isForeground: Bool
    /// The watched event for which watchdogd killed it, such as `scene-update`; nil for other ends.
    public var event: String?
    /// The exit status in words; nil if unknown.
    public var status: String?
    /// The version of the program.
    public var version: ProgramVersion

    /// Creates the record of an end; times are stored in microseconds.
    public init(
        app: String, time: WallTime, reason: Reason, isForeground: Bool, event: String? = nil, status: String? = nil,
        version: ProgramVersion = ProgramVersion()
    ) {
        self.app = app
        self.time = time
        self.reason = reason
        self.isForeground = isForeground
        self.event = event
        self.status = status
        self.version = version
    }
}

/// An entry of the history.
public enum HistoryEntry: Equatable, Sendable {
    /// A launch or resume.
    case launch(KeptLaunch)
    /// Later facts about a stored launch; readers return them as part of the launch.
    case completion(LaunchCompletion)
    /// A hang.
    case hang(KeptHang)
    /// The end of a process.
    case termination(KeptTermination)

    /// The entry with the package of its program.
    func resolved(by packages: DebianPackages) -> HistoryEntry {
        switch self {
        case .launch(var launch):
            launch.version = launch.version.resolved(by: packages)
            return .launch(launch)
        case .hang(var hang):
            hang.version = hang.version.resolved(by: packages)
            return .hang(hang)
        case .termination(var termination):
            termination.version = termination.version.resolved(by: packages)
            return .termination(termination)
        case .completion: return self
        }
    }
}
