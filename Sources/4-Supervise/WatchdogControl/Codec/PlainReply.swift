// SPDX-License-Identifier: Apache-2.0

/// The reply to `Launch`, `Restart` or `Terminate` in the form that watchdogd writes, parsed without a decoder.
///
/// The first use of a decoder costs a client 0.5 ms, a tenth of the whole command.
struct PlainReply {
    private var pid: Int32?
    private var ended: String?
    private var isGone: Bool?

    /// Nil for any other message, valid or not, which the decoder then reads.
    init?(decoding bytes: [UInt8]) {
        var reader = PlainReader(bytes)
        guard reader.skips("{"), reader.skips("\"parameters\""), reader.skips(":"), reader.skips("{") else {
            return nil
        }
        if !reader.skips("}") {
            repeat {
                guard takeMember(from: &reader) else { return nil }
            } while reader.skips(",")
            guard reader.skips("}") else { return nil }
        }
        guard reader.skips("}"), reader.isAtEnd else { return nil }
    }

    /// - Returns: false for an unknown or repeated member.
    private mutating func takeMember(from reader: inout PlainReader) -> Bool {
        guard let name = reader.text(), reader.skips(":") else { return false }
        switch name {
        case "pid" where pid == nil:
            pid = reader.number()
            return pid != nil
        case "ended" where ended == nil:
            ended = reader.text()
            return ended != nil
        case "isGone" where isGone == nil:
            isGone = reader.truth()
            return isGone != nil
        default: return false
        }
    }

    /// The reply as a value; nil if it is not of this type.
    func reply<Reply: ControlReply>(as type: Reply.Type = Reply.self) -> Reply? {
        switch type {
        case is LaunchReply.Type where isGone == nil: LaunchReply(pid: pid, ended: ended) as? Reply
        case is TerminateReply.Type where pid == nil && ended == nil:
            isGone.map { TerminateReply(isGone: $0) } as? Reply
        default: nil
        }
    }
}
