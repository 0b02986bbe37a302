// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The state of an app in the interface.
///
/// A state that this version does not know keeps its name.
public struct AppState: RawRepresentable, Hashable, Sendable, Codable, CaseIterable {
    /// The name in the interface.
    public let rawValue: String

    /// Creates a state from its name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// It is not running, and will not be started.
    public static let stopped = AppState(rawValue: "stopped")
    /// It is not running, and will be restarted.
    public static let waiting = AppState(rawValue: "waiting")
    /// It is running but not ready.
    public static let launching = AppState(rawValue: "launching")
    /// It is ready.
    public static let running = AppState(rawValue: "running")
    /// It was requested to exit, or is exiting by itself.
    public static let terminating = AppState(rawValue: "terminating")
    /// Its stacks are being captured.
    public static let capturing = AppState(rawValue: "capturing")
    /// It was killed, and its death is not verified yet.
    public static let dying = AppState(rawValue: "dying")
    /// It is not running, and is not restarted because it has failed too often.
    public static let failed = AppState(rawValue: "failed")
    /// Its processes survive SIGKILL; no other instance is started.
    public static let unkillable = AppState(rawValue: "unkillable")

    /// The state that corresponds to a phase of the machine.
    ///
    /// The machine does not know whether an ended app is restarted, or has failed too often.
    public init(_ phase: ProcessMachine.Phase) {
        self =
            switch phase {
            case .idle: .stopped
            case .launching: .launching
            case .running: .running
            case .terminating: .terminating
            case .capturing: .capturing
            case .dying: .dying
            case .ended(let outcome): outcome.isDeathVerified ? .stopped : .unkillable
            }
    }

    /// All states of this version.
    public static let allCases: [AppState] = [
        .stopped, .waiting, .launching, .running, .terminating, .capturing, .dying, .failed, .unkillable,
    ]
}
