// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

extension LaunchGoal {
    /// Worded to follow "until".
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

/// Chooses what ends the launches of a program, from what its first launch does.
///
/// A program that exits is measured until then. Otherwise `READY=1` counts before the first listening socket, and that
/// before the first idle moment.
public struct LaunchEndChoice: Equatable, Sendable {
    /// How long a better end is awaited after a listening socket or an idle moment.
    public static let grace = Duration.seconds(1)

    private var listened: Duration?
    private var idled: Duration?

    /// Starts with a launch that has done nothing yet.
    public init() {}

    /// Takes what has happened for the first time.
    ///
    /// - Returns: the choice, if this already makes it.
    public mutating func happened(_ signal: LaunchGoal, at time: Duration) -> LaunchGoal? {
        switch signal {
        case .exit, .ready: return signal
        case .listen: listened = listened ?? time
        case .idle: idled = idled ?? time
        case .firstFrame, .useful: break
        }
        return nil
    }

    /// The choice when nothing else happens until this time; nil if it is too early for one.
    public func choice(at time: Duration) -> LaunchGoal? {
        if let listened { return time - listened >= Self.grace ? .listen : nil }
        if let idled { return time - idled >= Self.grace ? .idle : nil }
        return nil
    }
}
