// SPDX-License-Identifier: Apache-2.0

/// What `Terminate` answers with.
public struct TerminateReply: ControlReply {
    /// True when no process of the app is left; false when that is still awaited.
    public var isGone: Bool

    /// Creates an answer.
    public init(isGone: Bool) {
        self.isGone = isGone
    }
}
