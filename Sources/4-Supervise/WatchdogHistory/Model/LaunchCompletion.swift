// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Facts about a launch that became known after its record was written: an app may be useful long after it is ready.
///
/// The app, the host and the time of the request identify the record. All other times are relative to the execution of
/// the program, because a watchdogd that took over an app knows no earlier moment.
public struct LaunchCompletion: Equatable, Sendable {
    /// The app's name.
    public var app: String
    /// The time of the request.
    public var time: WallTime
    /// The machine's name.
    public var host: String
    /// The new moments.
    public var moments: [KeptLaunch.Moment: Duration]
    /// All tasks that extend the launch; empty without news of them.
    public var tasks: [KeptLaunch.Task]

    /// Creates a completion.
    public init(
        app: String, time: WallTime, host: String = "", moments: [KeptLaunch.Moment: Duration] = [:],
        tasks: [KeptLaunch.Task] = []
    ) {
        self.app = app
        self.time = time
        self.host = host
        self.moments = moments
        self.tasks = tasks
    }
}
