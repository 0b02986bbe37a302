// SPDX-License-Identifier: Apache-2.0

/// The reply to `ReloadApp`.
public struct ReloadAppReply: ControlReply {
    /// The time from the request until the reload was complete; nil if the client did not wait for that.
    public var duration: Microseconds?
    /// Whether the app itself confirmed the reload.
    public var isConfirmed: Bool

    /// Creates a reply.
    public init(duration: Duration? = nil, isConfirmed: Bool = false) {
        self.duration = duration.map { Microseconds($0) }
        self.isConfirmed = isConfirmed
    }

    private enum CodingKeys: String, CodingKey {
        case duration = "durationUSec"
        case isConfirmed
    }
}
