// SPDX-License-Identifier: Apache-2.0

/// What `ReloadApp` answers with.
public struct ReloadAppReply: ControlReply {
    /// From the request until it was done; nil when that was not waited for.
    public var duration: Microseconds?
    /// Whether the app itself has said that it has reloaded.
    public var isConfirmed: Bool

    /// Creates an answer.
    public init(duration: Duration? = nil, isConfirmed: Bool = false) {
        self.duration = duration.map { Microseconds($0) }
        self.isConfirmed = isConfirmed
    }

    private enum CodingKeys: String, CodingKey {
        case duration = "durationUSec"
        case isConfirmed
    }
}
