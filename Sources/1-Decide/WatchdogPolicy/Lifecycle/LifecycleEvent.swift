// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// What happened to the lifecycle of an app, as part of a ``ProcessEvent``.
public enum LifecycleEvent: Hashable, Sendable {
    /// `HELLO` with `LIFECYCLE=1`: the app answers states and events, and reports its background tasks.
    case joined
    /// Somebody made a request of the app.
    case requested(LifecycleRequest)
    /// `STATE_DONE`: the transition with this number, and all before it, are complete.
    case stateDone(UInt64)
    /// `EVENT_DONE`: the event with this number, and all before it, are handled.
    case eventDone(UInt64)
    /// `EVENT_LOST`: nothing in the app listens for the event with this number; all before it are handled.
    case eventLost(UInt64)
    /// `BEGIN_TASK`.
    case taskBegan(id: UInt64, name: String)
    /// `END_TASK`.
    case taskEnded(id: UInt64)
    /// The answer to ``LifecycleEffect/freeze``: no process of the app is running, and it has locked these files.
    case froze(locks: [LockedFile])
    /// The answer to ``LifecycleEffect/measure``.
    case measured(ResourceUse)
}

/// What the supervisor must do for the lifecycle of an app, as part of a ``ProcessEffect``.
public enum LifecycleEffect: Hashable, Sendable {
    /// Send `STATE` with this number, and `backgroundTime` as `BACKGROUND_USEC`.
    case enter(Visibility, id: UInt64, backgroundTime: Duration?)
    /// Send `BACKGROUND_USEC`: the app may run in the background for this long from now.
    case grant(Duration)
    /// Send `EXPIRE` with `BACKGROUND_USEC`.
    case expire(within: Duration)
    /// Send `EVENT`.
    case deliver(kind: String, payload: String, sender: String?, id: UInt64)
    /// Stop every process of the app and look for locked files; answer with ``LifecycleEvent/froze(locks:)``.
    case freeze
    /// Resume every process of the app.
    case thaw
    /// Measure what the app has used; answer with ``LifecycleEvent/measured(_:)``.
    case measure
}

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
    /// Nothing in the app listens for an event, which is lost.
    case lost(event: String)
    /// A request was refused.
    case refused(LifecycleRequest, LifecycleRefusal)
}
