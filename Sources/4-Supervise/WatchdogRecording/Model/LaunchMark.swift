// SPDX-License-Identifier: Apache-2.0

/// A moment within a launch.
public struct LaunchMark: Equatable, Sendable {
    /// The kind of a moment.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        case hello, firstFrame, ready, useful
        /// The first listen(2).
        case listen
        /// The main thread's first wait for events that was longer than the recording's limit.
        case idle
        case extendedBegin, extendedEnd
        case exec, exit
        /// A signpost or a text of the app.
        case signpost
    }

    /// The kind of the moment.
    public var kind: Kind
    /// The time, relative to the request.
    public var time: Duration
    /// The name of a signpost or of an extended task, or a file's path.
    public var name: String?

    /// Creates a mark.
    public init(kind: Kind, time: Duration, name: String? = nil) {
        self.kind = kind
        self.time = time
        self.name = name
    }
}

/// The moment that counts as the end of a launch.
public struct LaunchEnd: Equatable, Sendable {
    /// The kind of an end.
    public enum Kind: String, Sendable, Codable {
        case firstFrame, ready, useful, listen, idle
        /// The program exited before anything else.
        case exit
        /// The program was killed by a signal.
        case killed
        /// The time limit of the recording passed.
        case timeLimit
    }

    /// The kind of the end.
    public var kind: Kind
    /// The time, relative to the request.
    public var time: Duration
    /// The exit code or the number of the signal.
    public var code: Int32?

    /// Creates an end.
    public init(kind: Kind, time: Duration, code: Int32? = nil) {
        self.kind = kind
        self.time = time
        self.code = code
    }
}
