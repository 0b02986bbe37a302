// SPDX-License-Identifier: Apache-2.0

/// What happened to the lifecycle of an app, as part of an ``AppEvent``.
public enum LifecycleEvent: Hashable, Sendable {
    /// `HELLO` with `LIFECYCLE=1`: the app answers states and events, and tells of its background tasks.
    case joined
    /// Somebody wants something of the app.
    case requested(LifecycleRequest)
    /// `STATE_DONE`: the transition with this number, and all before it, are complete.
    case stateDone(UInt64)
    /// `EVENT_DONE`: the event with this number, and all before it, are handled.
    case eventDone(UInt64)
    /// `BEGIN_TASK`.
    case taskBegan(id: UInt64, name: String)
    /// `END_TASK`.
    case taskEnded(id: UInt64)
    /// The answer to ``LifecycleEffect/freeze``: nothing of the app runs, and these files are locked by it.
    case froze(locks: [LockedFile])
    /// The answer to ``LifecycleEffect/measure``.
    case measured(ResourceUse)
}
