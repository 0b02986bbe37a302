// SPDX-License-Identifier: Apache-2.0

extension ClientMessage {
    /// A point in time that the app marks, `SIGNPOST=<phase> <id> <nanoseconds> <main|other> <category>⇥<name>[⇥<message>]`.
    public struct Signpost: Hashable, Sendable {
        /// The kind of a mark.
        public enum Phase: String, Hashable, Sendable, CaseIterable {
            /// The beginning of an interval.
            case begin
            /// The end of the interval with the same category, name and id.
            case end
            /// A single moment.
            case event
        }

        /// The kind of the mark.
        public var phase: Phase
        /// Pairs the beginning and end of overlapping intervals with the same name; 0 without overlap.
        public var id: UInt64
        /// The time at which the app set the mark, in nanoseconds since the origin of `CLOCK_MONOTONIC`.
        public var nanoseconds: Int64
        /// True if the mark was set on the main loop.
        public var isOnMainThread: Bool
        /// The part of the app that it belongs to, at most ``Wire/Limit/name`` bytes, without tabs.
        public var category: String
        /// The name of the interval or moment, at most ``Wire/Limit/name`` bytes, without tabs.
        public var name: String
        /// Details, at most ``Wire/Limit/signpostMessage`` bytes, without tabs; may be empty.
        public var message: String

        /// Creates a signpost; texts are cut when it is sent.
        public init(
            _ phase: Phase,
            category: String,
            name: String,
            id: UInt64 = 0,
            nanoseconds: Int64,
            isOnMainThread: Bool,
            message: String = ""
        ) {
            self.phase = phase
            self.category = category
            self.name = name
            self.id = id
            self.nanoseconds = nanoseconds
            self.isOnMainThread = isOnMainThread
            self.message = message
        }

        init?(_ field: FieldReader.Field) {
            let words = field.value.split(separator: UInt8(ascii: " "), maxSplits: 4, omittingEmptySubsequences: false)
                .map { FieldReader.Field(field, $0) }
            guard words.count == 5,
                let phase = Phase(rawValue: words[0].text()),
                let id = words[1].number(as: UInt64.self),
                let nanoseconds = words[2].number(as: Int64.self),
                let thread = Thread(rawValue: words[3].text())
            else { return nil }
            let texts = words[4].value
                .split(separator: UInt8(ascii: "\t"), maxSplits: 3, omittingEmptySubsequences: false)
                .map { FieldReader.Field(field, $0) }
            guard texts.count == 2 || texts.count == 3 else { return nil }
            self.init(
                phase,
                category: texts[0].text(limit: Wire.Limit.name),
                name: texts[1].text(limit: Wire.Limit.name),
                id: id,
                nanoseconds: nanoseconds,
                isOnMainThread: thread == .main,
                message: texts.count == 3 ? texts[2].text(limit: Wire.Limit.signpostMessage) : ""
            )
        }

        private enum Thread: String {
            case main
            case other
        }

        var value: String {
            let thread = isOnMainThread ? Thread.main : Thread.other
            let texts = [(category, Wire.Limit.name), (name, Wire.Limit.name), (message, Wire.Limit.signpostMessage)]
                .prefix(message.isEmpty ? 2 : 3)
                .map { $0.fieldText(limit: $1, isTabbed: true) }
                .joined(separator: "\t")
            return "\(phase.rawValue) \(id) \(max(0, nanoseconds)) \(thread.rawValue) \(texts)"
        }
    }
}
