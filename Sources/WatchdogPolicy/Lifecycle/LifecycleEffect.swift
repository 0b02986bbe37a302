// SPDX-License-Identifier: Apache-2.0

/// What the supervisor has to do for the lifecycle of an app, as part of an ``AppEffect``.
public enum LifecycleEffect: Hashable, Sendable {
    /// Send `STATE` with this number; `backgroundTime` goes along as `BACKGROUND_USEC`.
    case enter(Visibility, id: UInt64, backgroundTime: Duration?)
    /// Send `BACKGROUND_USEC`: so long the app may go on in the background from now.
    case grant(Duration)
    /// Send `EXPIRE` with `BACKGROUND_USEC`.
    case expire(within: Duration)
    /// Send `EVENT`.
    case deliver(kind: String, payload: String, id: UInt64)
    /// Stop every process of the app and look for locked files; answer with ``LifecycleEvent/froze(locks:)``.
    case freeze
    /// Let every process of the app run on.
    case thaw
    /// Measure what the app has used; answer with ``LifecycleEvent/measured(_:)``.
    case measure
}
