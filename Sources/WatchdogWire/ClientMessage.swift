// SPDX-License-Identifier: Apache-2.0

/// A message of the channel protocol from the app to the supervisor.
///
/// One datagram may carry several keys; each counts once. Decoding follows the rules of ``NotifyMessage``; texts are also
/// cut at their limits, so that no app makes the supervisor keep more.
public struct ClientMessage: Hashable, Sendable {
    /// The first thing an app says.
    public struct Hello: Hashable, Sendable {
        /// `HELLO`: the version of the protocol that the app speaks, 1 or greater.
        public var version: Int
        /// `PID`: the process that speaks, as it sees itself; it may live in another PID namespace.
        public var process: Int32?
        /// `LIBRARY`: what the app speaks through, as name and version.
        public var library: String?

        /// Creates a greeting.
        public init(version: Int = Wire.version, process: Int32? = nil, library: String? = nil) {
            self.version = version
            self.process = process
            self.library = library
        }
    }

    /// `HELLO`: the app has begun to run its own code and will answer pings.
    public var hello: Hello?
    /// `READY`: the app can be used.
    public var isReady = false
    /// `PONG`: the main loop's answer to the ping with this nonce.
    public var pong: UInt64?
    /// `THREAD`: the thread that answered, when it is not the process's first one; it numbers threads as the app sees them.
    ///
    /// Swift's main queue leaves the first thread in `dispatchMain()` and under an `async` main, so that the first thread's
    /// stack tells nothing about the main loop.
    public var thread: Int32?
    /// `STATUS`: one line about the app's state, for people; empty to take back the one before.
    public var status: String?
    /// `EXTEND_TIMEOUT_USEC`: the time, counted from now, that the app asks for.
    public var timeoutExtension: Duration?
    /// `PROGRESS`: a token that changes as the work for which an extension is asked goes on.
    public var progress: String?
    /// `SUMMARY`: the app's own line in a report about it.
    public var summary: String?
    /// `STOPPING`: the app has begun to end.
    public var isStopping = false
    /// How many lines were dropped because they were no assignment or had an unusable value.
    public var malformed = 0
    /// How many different keys were not known.
    public var unknown = 0

    /// Creates a message that says nothing.
    public init() {}
}

// MARK: - Decoding

extension ClientMessage {
    /// Decodes a datagram; never fails, what cannot be used is counted.
    ///
    /// `PID` and `LIBRARY` belong to `HELLO` and are dropped without it.
    ///
    /// - Parameter datagram: The bytes as received, from anyone.
    public init(decoding datagram: some Collection<UInt8>) {
        let reader = FieldReader(datagram)
        var first = FirstAssignments()
        var version: Int?
        var process: Int32?
        var library: String?
        malformed = reader.malformed
        for field in reader.fields where first.admit(field.key) {
            switch field.key {
            case "HELLO": version.take(field.number(in: 1...Int.max), orCount: &malformed)
            case "PID": process.take(field.number(in: 1...Int32.max), orCount: &malformed)
            case "LIBRARY": library = field.text(limit: Wire.Limit.name)
            case "READY": field.raise(&isReady, orCount: &malformed)
            case "PONG": pong.take(field.number(), orCount: &malformed)
            case "THREAD": thread.take(field.number(in: 1...Int32.max), orCount: &malformed)
            case "STATUS": status = field.text(limit: Wire.Limit.status)
            case "EXTEND_TIMEOUT_USEC": timeoutExtension.take(field.microseconds, orCount: &malformed)
            case "PROGRESS": progress = field.text(limit: Wire.Limit.progress)
            case "SUMMARY": summary = field.text(limit: Wire.Limit.summary)
            case "STOPPING": field.raise(&isStopping, orCount: &malformed)
            default: unknown += 1
            }
        }
        hello = version.map { Hello(version: $0, process: process, library: library) }
    }
}

// MARK: - Encoding

extension ClientMessage {
    /// The datagram to send, at most ``Wire/Limit/datagram`` bytes; empty when the message says nothing.
    ///
    /// Texts are cut at their limits and made one line. An empty datagram looks like the end of the channel to the receiver
    /// and must not be sent.
    public var datagram: [UInt8] {
        var writer = FieldWriter()
        writer.number("HELLO", hello?.version)
        writer.number("PID", hello?.process)
        writer.text("LIBRARY", hello?.library, limit: Wire.Limit.name)
        writer.flag("READY", isReady)
        writer.number("PONG", pong)
        writer.number("THREAD", thread)
        writer.text("STATUS", status, limit: Wire.Limit.status)
        writer.microseconds("EXTEND_TIMEOUT_USEC", timeoutExtension)
        writer.text("PROGRESS", progress, limit: Wire.Limit.progress)
        writer.text("SUMMARY", summary, limit: Wire.Limit.summary)
        writer.flag("STOPPING", isStopping)
        return writer.bytes
    }
}
