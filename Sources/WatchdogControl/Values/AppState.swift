// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// Where an app is in its life, as the interface tells it.
///
/// A state that this version does not know keeps its name.
public struct AppState: RawRepresentable, Hashable, Sendable, Codable, CaseIterable {
    /// The name in the interface.
    public let rawValue: String

    /// Creates a state from its name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// It does not run, and nobody is going to start it.
    public static let stopped = AppState(rawValue: "stopped")
    /// It does not run, and is going to be started again.
    public static let waiting = AppState(rawValue: "waiting")
    /// It runs and is not ready.
    public static let launching = AppState(rawValue: "launching")
    /// It is ready.
    public static let running = AppState(rawValue: "running")
    /// It was asked to end, or ends by its own will.
    public static let terminating = AppState(rawValue: "terminating")
    /// Its stacks are being taken.
    public static let capturing = AppState(rawValue: "capturing")
    /// It was killed; its death is awaited.
    public static let dying = AppState(rawValue: "dying")
    /// It does not run, and is not started again because it has failed too often.
    public static let failed = AppState(rawValue: "failed")
    /// Processes of it outlive SIGKILL; no other instance is started beside them.
    public static let unkillable = AppState(rawValue: "unkillable")

    /// The state of an app of which there is nothing to say but where its machine is.
    ///
    /// Whether an app that ended is started again, or has failed too often, is not the machine's to say.
    public init(_ phase: AppMachine.Phase) {
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

    /// The states that this version knows.
    public static let allCases: [AppState] = [
        .stopped, .waiting, .launching, .running, .terminating, .capturing, .dying, .failed, .unkillable,
    ]
}
