// SPDX-License-Identifier: Apache-2.0

/// How long an app may take for what on its way through the lifecycle.
///
/// The defaults are those of iOS as far as they are known. They are the policy's starting point and not constants of the
/// code: a spec carries its own.
public struct LifecycleAllowances: Hashable, Sendable, Codable {
    /// From the request to go to the background until the app is there.
    public var enterBackground: Duration = .seconds(5)
    /// In the background with open tasks; one clock for all of them.
    public var background: Duration = .seconds(30)
    /// The last part of ``background``: so long before its end the expiration handlers run.
    public var expiration: Duration = .seconds(5)
    /// In the background without a task until the app is suspended; nil for never.
    public var idle: Duration? = .seconds(5)
    /// How old a task may become before it is told of, in whatever state the app is.
    public var taskWarning: Duration = .seconds(30)
    /// How many tasks may be open at once.
    public var taskLimit = 1_000
    /// Whether the app is launched into the background: then ``launchCPUTime`` and ``backgroundLaunch`` take the place of
    /// the launch allowance.
    public var launchesInBackground = false
    /// CPU time of the app for a launch into the background.
    public var launchCPUTime: Duration = .seconds(5)
    /// Wall-clock time for a launch into the background.
    public var backgroundLaunch: Duration = .seconds(60)
    /// CPU time of the app for one stay in the background; nil for as much as it likes.
    public var backgroundCPUTime: Duration?
    /// How many CPUs the app may use at once: so fast, at most, is CPU time used up.
    public var processorCount = 1

    /// Creates the default allowances.
    public init() {}

    /// The same with all time spans changed.
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
