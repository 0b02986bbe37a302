// SPDX-License-Identifier: Apache-2.0

/// One of the replies to `Monitor`.
///
/// The first reply has no event: it confirms that no later event is missed.
public struct MonitorReply: ControlReply {
    /// The event; nil in the first and the last reply.
    public var event: ControlEvent?
    /// The number of events, of all apps, that were dropped since the last reply because the client did not read.
    public var missed: Int?
    /// True in the first reply if the client may see only the kinds of events and their apps; otherwise nil.
    public var isWithheld: Bool?

    /// Creates a reply.
    public init(event: ControlEvent? = nil, missed: Int? = nil, isWithheld: Bool? = nil) {
        self.event = event
        self.missed = missed
        self.isWithheld = isWithheld
    }
}
