// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// A silence of an app's main loop.
public struct KeptHang: Equatable, Sendable {
    /// The app's name.
    public var app: String
    /// When it was over, or when it was judged.
    public var time: WallTime
    /// How long the main loop did not answer.
    public var duration: Duration
    /// What the app was watched for, such as `scene-update`.
    public var event: String
    /// Whether the app was killed for it.
    public var isFatal: Bool
    /// What was running.
    public var version: ProgramVersion

    /// Creates the record of a hang.
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
    /// Why a process ended, in the classes of Apple's `MXAppExitMetric`.
    public enum Reason: String, Sendable, CaseIterable {
        /// It exited with code 0, or on request.
        case normal
        /// It exited with another code, or by a signal that has no class of its own.
        case abnormal
        /// SIGSEGV or SIGBUS.
        case badAccess = "bad-access"
        /// SIGILL or SIGTRAP.
        case illegalInstruction = "illegal-instruction"
        /// The kernel killed it for its memory.
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
    /// When it ended.
    public var time: WallTime
    /// Why it ended.
    public var reason: Reason
    /// Whether the app was in the foreground.
    public var isForeground: Bool
    /// What watchdogd killed it for, such as `scene-update`; nil if it did not.
    public var event: String?
    /// How the process ended, in words; nil if unknown.
    public var status: String?
    /// What was running.
    public var version: ProgramVersion

    /// Creates the record of an end.
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

/// What the history keeps.
public enum HistoryEntry: Equatable, Sendable {
    /// A launch or resume.
    case launch(KeptLaunch)
    /// What became known of a launch whose record is written; no reader returns it.
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
