// SPDX-License-Identifier: Apache-2.0

/// What `Monitor` answers with, again and again.
///
/// The first answer is empty: from now on nothing is missed.
public struct MonitorReply: ControlReply {
    /// What happened.
    public var event: ControlEvent?
    /// How many events of any app came and went since the answer before, as the caller did not read.
    public var missed: Int?

    /// Creates an answer.
    public init(event: ControlEvent? = nil, missed: Int? = nil) {
        self.event = event
        self.missed = missed
    }
}
