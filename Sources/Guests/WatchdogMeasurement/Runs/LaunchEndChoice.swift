// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension LaunchGoal {
    /// The end in words that follow "until".
    public var phrase: String {
        switch self {
        case .ready: "READY=1"
        case .firstFrame: "FIRST_FRAME=1"
        case .useful: "USEFUL=1"
        case .listen: "it listens"
        case .idle: "it is idle"
        case .exit: "it exits"
        }
    }
}

/// Chooses the end of a program's launches from its first launch.
///
/// For a program that exits, it is the exit. Otherwise `READY=1` takes precedence over the first listening socket, and
/// that over the first idle moment.
public struct LaunchEndChoice: Equatable, Sendable {
    /// The time for which to wait for a better end after a listening socket or an idle moment.
    public static let grace = Duration.seconds(1)

    private var listened: Duration?
    private var idled: Duration?

    /// Creates the state at the start of a launch.
    public init() {}

    /// Handles the first occurrence of a signal.
    ///
    /// - Returns: the choice, if this decides it.
    public mutating func happened(_ signal: LaunchGoal, at time: Duration) -> LaunchGoal? {
        switch signal {
        case .exit, .ready: return signal
        case .listen: listened = listened ?? time
        case .idle: idled = idled ?? time
        case .firstFrame, .useful: break
        }
        return nil
    }

    /// The choice if no other signal occurs until this time; nil if it is too early for one.
    public func choice(at time: Duration) -> LaunchGoal? {
        if let listened { return time - listened >= Self.grace ? .listen : nil }
        if let idled { return time - idled >= Self.grace ? .idle : nil }
        return nil
    }
}
