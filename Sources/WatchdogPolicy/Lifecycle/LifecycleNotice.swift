// SPDX-License-Identifier: Apache-2.0

/// What is worth telling of the lifecycle of an app, as part of a ``Notice``.
public enum LifecycleNotice: Hashable, Sendable {
    /// The app was asked to move.
    case moving(to: Visibility)
    /// It is there; nothing was asked of a program that does not take part, so that it took no time.
    case entered(Visibility, after: Duration)
    /// Expiration handlers run now; so many tasks are open, and must end within this time.
    case expiring(tasks: Int, within: Duration)
    /// A task is open for long, which is a risk in the background.
    case longTask(BackgroundTask, age: Duration)
    /// The app is frozen.
    case suspended(after: Duration)
    /// Not every process of the app could be frozen in time.
    case suspensionIncomplete
    /// The app holds locks while it is suspended; told of programs that are not killed for it.
    case locksHeld([LockedFile])
    /// The app was thawed, after a suspension of this length.
    case resumed(after: Duration)
    /// It answered for the first time since; counted from the request.
    case responsive(after: Duration)
    /// The main loop has handled an event.
    case handled(event: String, after: Duration)
    /// A request was not carried out.
    case refused(LifecycleRequest, LifecycleRefusal)
}
