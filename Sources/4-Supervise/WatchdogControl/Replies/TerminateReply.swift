// SPDX-License-Identifier: Apache-2.0

/// The reply to `Terminate`.
public struct TerminateReply: ControlReply {
    /// Whether no process of the app remains; false if that is still pending.
    public var isGone: Bool

    /// Creates a reply.
    public init(isGone: Bool) {
        self.isGone = isGone
    }
}
