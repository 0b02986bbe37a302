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
    /// `BEGIN_TASK`.
    case taskBegan(id: UInt64, name: String)
    /// `END_TASK`.
    case taskEnded(id: UInt64)
    /// The answer to ``LifecycleEffect/freeze``: no process of the app is running, and it has locked these files.
    case froze(locks: [LockedFile])
    /// The answer to ``LifecycleEffect/measure``.
    case measured(ResourceUse)
}
