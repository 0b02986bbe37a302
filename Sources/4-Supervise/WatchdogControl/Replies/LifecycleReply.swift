// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// The reply to `Foreground`, `Background`, `Suspend`, `Resume` and `SendEvent`.
public struct LifecycleReply: ControlReply {
    /// The app's state now: a raw value of `LifecycleState`.
    public var state: String

    /// Creates a reply.
    public init(state: LifecycleState) {
        self.state = state.rawValue
    }
}
