// SPDX-License-Identifier: Apache-2.0

/// What the supervisor must do for the lifecycle of an app, as part of a ``ProcessEffect``.
public enum LifecycleEffect: Hashable, Sendable {
    /// Send `STATE` with this number, and `backgroundTime` as `BACKGROUND_USEC`.
    case enter(Visibility, id: UInt64, backgroundTime: Duration?)
    /// Send `BACKGROUND_USEC`: the app may run in the background for this long from now.
    case grant(Duration)
    /// Send `EXPIRE` with `BACKGROUND_USEC`.
    case expire(within: Duration)
    /// Send `EVENT`.
    case deliver(kind: String, payload: String, id: UInt64)
    /// Stop every process of the app and look for locked files; answer with ``LifecycleEvent/froze(locks:)``.
    case freeze
    /// Resume every process of the app.
    case thaw
    /// Measure what the app has used; answer with ``LifecycleEvent/measured(_:)``.
    case measure
}
