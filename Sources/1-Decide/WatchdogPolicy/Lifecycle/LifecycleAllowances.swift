// SPDX-License-Identifier: Apache-2.0

/// The allowances for the steps of the lifecycle.
///
/// The defaults are those of iOS, as far as they are known. They are starting points of the policy, not constants of
/// the code: each spec has its own.
public struct LifecycleAllowances: Hashable, Sendable, Codable {
    /// From the request to move to the background until the app is there.
    public var enterBackground: Duration = .seconds(5)
    /// A stay in the background with open tasks; one clock for all tasks.
    public var background: Duration = .seconds(30)
    /// The last part of ``background``, in which the expiration handlers run.
    public var expiration: Duration = .seconds(5)
    /// A stay in the background without tasks, until the app is suspended; nil for unlimited.
    public var idle: Duration? = .seconds(5)
    /// The age at which a task is reported, in any state of the app.
    public var taskWarning: Duration = .seconds(30)
    /// The limit of tasks open at once.
    public var taskLimit = 1_000
    /// Whether the app is launched into the background, so that ``launchCPUTime`` and ``backgroundLaunch`` replace the
    /// launch allowance.
    public var launchesInBackground = false
    /// The app's CPU time for a launch into the background.
    public var launchCPUTime: Duration = .seconds(5)
    /// Wall-clock time for a launch into the background.
    public var backgroundLaunch: Duration = .seconds(60)
    /// The app's CPU time for one stay in the background; nil for unlimited.
    public var backgroundCPUTime: Duration?
    /// How many CPUs the app may use at once, which bounds how fast CPU time is used up.
    public var processorCount = 1

    private enum CodingKeys: String, CodingKey {
        case enterBackground, background, expiration, idle, taskWarning, taskLimit, launchesInBackground, launchCPUTime,
            backgroundLaunch, backgroundCPUTime, processorCount
    }

    /// Creates the default allowances.
    public init() {}

    /// The same with each time span transformed.
    func map(_ change: (Duration) -> Duration) -> LifecycleAllowances {
        var copy = self
        copy.enterBackground = change(enterBackground)
        copy.background = change(background)
        copy.expiration = change(expiration)
        copy.idle = idle.map(change)
        copy.taskWarning = change(taskWarning)
        copy.launchCPUTime = change(launchCPUTime)
        copy.backgroundLaunch = change(backgroundLaunch)
        copy.backgroundCPUTime = backgroundCPUTime.map(change)
        return copy
    }
}
