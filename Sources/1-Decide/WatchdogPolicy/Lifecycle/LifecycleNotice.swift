// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What the lifecycle reports, as part of a ``Notice``.
public enum LifecycleNotice: Hashable, Sendable {
    /// The app was asked to change its visibility.
    case moving(to: Visibility)
    /// The app changed its visibility; a program that does not take part is not asked and takes no time.
    case entered(Visibility, after: Duration)
    /// Expiration handlers are running; this many tasks are open, and must end within this time.
    case expiring(tasks: Int, within: Duration)
    /// A task has been open for long, which is a risk in the background.
    case longTask(BackgroundTask, age: Duration)
    /// The app is frozen.
    case suspended(after: Duration)
    /// Not every process of the app could be frozen in time.
    case suspensionIncomplete
    /// The app holds locks while it is suspended; reported for programs that are not killed for that.
    case locksHeld([LockedFile])
    /// The app was thawed, after a suspension of this length.
    case resumed(after: Duration)
    /// The app answered for the first time after a resume; counted from the request.
    case responsive(after: Duration)
    /// The main loop has handled an event.
    case handled(event: String, after: Duration)
    /// A request was refused.
    case refused(LifecycleRequest, LifecycleRefusal)
}
