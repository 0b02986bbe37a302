// SPDX-License-Identifier: Apache-2.0

extension ClientMessage {
    /// Work that should continue in the background, `BEGIN_TASK=<id> <name>`.
    public struct BackgroundTask: Hashable, Sendable {
        /// The app's number for the task, 1 or greater; never reused.
        public var id: UInt64
        /// The name of the work, for people; at most ``Wire/Limit/taskName`` bytes, and may be empty.
        public var name: String

        /// Creates a task; the name is cut when it is sent.
        public init(id: UInt64, name: String) {
            self.id = id
            self.name = name
        }

        init?(_ field: FieldReader.Field) {
            let words = field.value.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
            guard let id = FieldReader.Field(field, words[0]).number(in: 1...UInt64.max) else { return nil }
            self.id = id
            name = words.count > 1 ? FieldReader.Field(field, words[1]).text(limit: Wire.Limit.taskName) : ""
        }

        fileprivate var value: String { "\(id) \(name.fieldText(limit: Wire.Limit.taskName))" }
    }

    /// Writes as much of the lists as fits, and the completed state once it includes all tasks begun before it.
    ///
    /// If one list does not fit, the following ones are held back, too: no end may overtake its beginning, and an app
    /// with an open task must not look idle in the background.
    ///
    /// - Returns: The part that was not written.
    func writeLists(to writer: inout FieldWriter) -> ClientMessage {
        var rest = ClientMessage()
        // First: EVENT_DONE, which is in this datagram, would make an event that is not named yet a handled one.
        rest.eventsLost = Array(writer.lines("EVENT_LOST", eventsLost[...], value: \.description))
        rest.tasksBegun = Array(writer.lines("BEGIN_TASK", tasksBegun[...]) { $0.value })
        let states = [stateDone].compactMap(\.self)
        rest.stateDone =
            (rest.tasksBegun.isEmpty ? writer.lines("STATE_DONE", states[...], value: \.description) : states[...])
            .first
        var isFull = !rest.tasksBegun.isEmpty || rest.stateDone != nil
        func write<Item>(_ key: String, _ items: [Item], value: (Item) -> String) -> [Item] {
            guard !isFull else { return items }
            let rest = writer.lines(key, items[...], value: value)
            isFull = !rest.isEmpty
            return Array(rest)
        }
        rest.tasksEnded = write("END_TASK", tasksEnded, value: \.description)
        rest.launchTasksBegun = write("BEGIN_LAUNCH_TASK", launchTasksBegun) { $0.fieldText(limit: Wire.Limit.name) }
        rest.launchTasksEnded = write("END_LAUNCH_TASK", launchTasksEnded) { $0.fieldText(limit: Wire.Limit.name) }
        rest.signposts = write("SIGNPOST", signposts, value: \.value)
        return rest
    }
}

extension FieldReader.Field {
    /// Creates a field from a part of its bytes.
    init(_ field: Self, _ part: ArraySlice<UInt8>) {
        self.init(key: field.key, value: part)
    }
}
