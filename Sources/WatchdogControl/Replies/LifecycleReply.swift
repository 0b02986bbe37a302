// SPDX-License-Identifier: Apache-2.0

public import WatchdogPolicy

/// What `Foreground`, `Background`, `Suspend`, `Resume` and `SendEvent` answer with.
public struct LifecycleReply: ControlReply {
    /// Where the app is now: a raw value of `LifecycleState`.
    public var state: String

    /// Creates an answer.
    public init(state: LifecycleState) {
        self.state = state.rawValue
    }
}
