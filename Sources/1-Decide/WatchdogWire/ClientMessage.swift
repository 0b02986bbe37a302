// SPDX-License-Identifier: Apache-2.0

/// A message of the channel protocol from the app to the supervisor.
///
/// One datagram may carry several keys. Most count once; those of the lists at the end may be repeated. Decoding
/// follows the rules of ``NotifyMessage``; texts are also cut at their limits, which bounds what the supervisor stores.
public struct ClientMessage: Hashable, Sendable {
    /// The greeting, which an app sends first.
    public struct Hello: Hashable, Sendable {
        /// `HELLO`: the version of the app's protocol, 1 or greater.
        public var version: Int
        /// `PID`: the sender's process ID in its own PID namespace.
        public var process: Int32?
        /// `LIBRARY`: the app's client library, as name and version.
        public var library: String?
        /// `LIFECYCLE`: the app receives states, expirations and events, and answers them.
        ///
        /// The supervisor sends none of these to other apps, because they would not answer.
        public var hasLifecycle: Bool
        /// `FAULTS`: the launch allows faults, and the app executes `HANG_USEC`.
        public var allowsFaults: Bool

        /// Creates a greeting, by default of the current version of the protocol.
        public init(
            version: Int = Wire.version,
            process: Int32? = nil,
            library: String? = nil,
            hasLifecycle: Bool = false,
            allowsFaults: Bool = false
        ) {
            self.version = version
            self.process = process
            self.library = library
            self.hasLifecycle = hasLifecycle
            self.allowsFaults = allowsFaults
        }
    }

    /// `HELLO`: the app has begun to run its own code and will answer pings.
    public var hello: Hello?
    /// `READY`: the app can be used.
    public var isReady = false
    /// `PONG`: the main loop's answer to the ping with this nonce.
    public var pong: UInt64?
    /// `THREAD`: the thread that answered, if it is not the process's first one; thread IDs are those of the app's own PID namespace.
    ///
    /// Swift's main queue leaves the first thread in `dispatchMain()` and under an `async` main, so that the first thread's
    /// stack does not show the main loop.
    public var thread: Int32?
    /// `STATUS`: one line about the app's state, for people; empty to clear the previous one.
    public var status: String?
    /// `EXTEND_TIMEOUT_USEC`: the time, from now, that the app requests.
    public var timeoutExtension: Duration?
    /// `PROGRESS`: a token that changes as the work that needs the extension progresses.
    public var progress: String?
    /// `SUMMARY`: the app's own line in a report about it.
    public var summary: String?
    /// `STOPPING`: the app has begun to exit.
    public var isStopping = false
    /// `STATE_DONE`: the number of the latest ``SupervisorMessage/Transition`` that the app has completed, and with it all
    /// earlier ones.
    public var stateDone: UInt64?
    /// `EVENT_DONE`: the number of the latest ``SupervisorMessage/Event`` that the app has handled, and with it all earlier
    /// ones.
    public var eventDone: UInt64?
    /// `EVENT_LOST`, once per event: nothing in the app listens for the event with this number.
    ///
    /// `EVENT_DONE` accompanies it, which ends the wait of a watchdogd that does not know this key.
    public var eventsLost: [UInt64] = []
    /// `FIRST_FRAME`: the app has drawn its first frame.
    public var isFirstFrame = false
    /// `USEFUL`: the app does what it was launched for.
    public var isUseful = false
    /// `BEGIN_TASK`, once per task: work has begun that should continue in the background.
    public var tasksBegun: [BackgroundTask] = []
    /// `END_TASK`, once per task: such work has ended.
    ///
    /// Numbers are never reused, so all beginnings in a message may be handled before all ends.
    public var tasksEnded: [UInt64] = []
    /// `BEGIN_LAUNCH_TASK`, once per task: the launch is not complete before this has ended; by name.
    public var launchTasksBegun: [String] = []
    /// `END_LAUNCH_TASK`, once per task.
    public var launchTasksEnded: [String] = []
    /// `SIGNPOST`, once per signpost, in the order in which they were set.
    public var signposts: [Signpost] = []
    /// `SIGNPOSTS_LOST`: how many signposts the app could not send since the last such message.
    public var signpostsLost: Int?
    /// The number of lines that were dropped because they were not assignments or had an invalid value.
    public var malformed = 0
    /// The number of different unknown keys.
    public var unknown = 0

    /// Creates an empty message.
    public init() {}
}

// MARK: - Decoding

extension ClientMessage {
    /// Decodes a datagram; never fails, but counts unusable lines.
    ///
    /// `PID` and `LIBRARY` belong to `HELLO` and are dropped without it.
    ///
    /// - Parameter datagram: The bytes as received; untrusted.
    public init(decoding datagram: some Collection<UInt8>) {
        let reader = FieldReader(datagram)
        var first = FirstAssignments()
        var greeting = Greeting()
        malformed = reader.malformed
        for field in reader.fields where !takeItem(field) && first.admit(field.key) && !greeting.take(field, &malformed)
        {
            switch field.key {
            case "READY": field.raise(&isReady, orCount: &malformed)
            case "PONG": pong.take(field.number(), orCount: &malformed)
            case "THREAD": thread.take(field.number(in: 1...Int32.max), orCount: &malformed)
            case "STATUS": status = field.text(limit: Wire.Limit.status)
            case "EXTEND_TIMEOUT_USEC": timeoutExtension.take(field.microseconds, orCount: &malformed)
            case "PROGRESS": progress = field.text(limit: Wire.Limit.progress)
            case "SUMMARY": summary = field.text(limit: Wire.Limit.summary)
            case "STOPPING": field.raise(&isStopping, orCount: &malformed)
            case "EVENT_DONE": eventDone.take(field.number(in: 1...UInt64.max), orCount: &malformed)
            case "STATE_DONE": stateDone.take(field.number(in: 1...UInt64.max), orCount: &malformed)
            case "FIRST_FRAME": field.raise(&isFirstFrame, orCount: &malformed)
            case "USEFUL": field.raise(&isUseful, orCount: &malformed)
            case "SIGNPOSTS_LOST": signpostsLost.take(field.number(in: 1...Int.max), orCount: &malformed)
            default: unknown += 1
            }
        }
        hello = greeting.hello
    }

    /// The keys of a greeting.
    private struct Greeting {
        private var version: Int?
        private var process: Int32?
        private var library: String?
        private var hasLifecycle = false
        private var allowsFaults = false

        var hello: Hello? {
            version.map {
                Hello(
                    version: $0, process: process, library: library, hasLifecycle: hasLifecycle,
                    allowsFaults: allowsFaults)
            }
        }

        /// - Returns: False if the field is not part of a greeting.
        mutating func take(_ field: FieldReader.Field, _ malformed: inout Int) -> Bool {
            switch field.key {
            case "HELLO": version.take(field.number(in: 1...Int.max), orCount: &malformed)
            case "PID": process.take(field.number(in: 1...Int32.max), orCount: &malformed)
            case "LIBRARY": library = field.text(limit: Wire.Limit.name)
            case "LIFECYCLE": field.raise(&hasLifecycle, orCount: &malformed)
            case "FAULTS": field.raise(&allowsFaults, orCount: &malformed)
            default: return false
            }
            return true
        }
    }

    /// Takes one item of a list; the length of a datagram bounds their number.
    ///
    /// - Returns: False if the field is not in a list.
    private mutating func takeItem(_ field: FieldReader.Field) -> Bool {
        switch field.key {
        case "BEGIN_TASK": tasksBegun.take(BackgroundTask(field), orCount: &malformed)
        case "END_TASK": tasksEnded.take(field.number(in: 1...UInt64.max), orCount: &malformed)
        case "EVENT_LOST": eventsLost.take(field.number(in: 1...UInt64.max), orCount: &malformed)
        case "BEGIN_LAUNCH_TASK": launchTasksBegun.append(field.text(limit: Wire.Limit.name))
        case "END_LAUNCH_TASK": launchTasksEnded.append(field.text(limit: Wire.Limit.name))
        case "SIGNPOST": signposts.take(Signpost(field), orCount: &malformed)
        default: return false
        }
        return true
    }
}

extension Array {
    /// Appends a decoded item; nil stands for an invalid one, which is counted instead.
    fileprivate mutating func take(_ item: Element?, orCount malformed: inout Int) {
        if let item {
            append(item)
        } else {
            malformed += 1
        }
    }
}

// MARK: - Encoding

extension ClientMessage {
    /// The datagram to send, at most ``Wire/Limit/datagram`` bytes; empty if the message is empty.
    ///
    /// Texts are cut at their limits and put on one line. Lists are sent as far as they fit; ``remainder`` has the
    /// rest. An empty datagram looks like the end of the channel to the receiver and must not be sent.
    public var datagram: [UInt8] { encoded.bytes }

    /// The part that does not fit into ``datagram``; empty if everything fits.
    public var remainder: ClientMessage { encoded.remainder }

    /// The datagram to send, and the part of the message that does not fit into it.
    public var encoded: (bytes: [UInt8], remainder: ClientMessage) {
        var writer = FieldWriter()
        writer.number("HELLO", hello?.version)
        writer.number("PID", hello?.process)
        writer.text("LIBRARY", hello?.library, limit: Wire.Limit.name)
        writer.flag("LIFECYCLE", hello?.hasLifecycle ?? false)
        writer.flag("FAULTS", hello?.allowsFaults ?? false)
        writer.flag("READY", isReady)
        writer.number("PONG", pong)
        writer.number("THREAD", thread)
        writer.text("STATUS", status, limit: Wire.Limit.status)
        writer.microseconds("EXTEND_TIMEOUT_USEC", timeoutExtension)
        writer.text("PROGRESS", progress, limit: Wire.Limit.progress)
        writer.text("SUMMARY", summary, limit: Wire.Limit.summary)
        writer.flag("STOPPING", isStopping)
        writer.number("EVENT_DONE", eventDone)
        writer.flag("FIRST_FRAME", isFirstFrame)
        writer.flag("USEFUL", isUseful)
        writer.number("SIGNPOSTS_LOST", signpostsLost)
        let remainder = writeLists(to: &writer)
        return (writer.bytes, remainder)
    }
}
