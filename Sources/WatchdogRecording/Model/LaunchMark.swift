// SPDX-License-Identifier: Apache-2.0

/// A moment within a launch.
public struct LaunchMark: Equatable, Sendable {
    /// What happened.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        case hello, firstFrame, ready, useful
        /// The first listen(2).
        case listen
        /// The main thread waited for events for the first time for longer than the recording's limit.
        case idle
        case extendedBegin, extendedEnd
        case exec, exit
        /// A signpost of the app's, or a text of its own.
        case signpost
    }

    /// What happened.
    public var kind: Kind
    /// When, counted from the request.
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
    /// What ended the launch.
    public enum Kind: String, Sendable, Codable {
        case firstFrame, ready, useful, listen, idle
        /// The program exited before anything else.
        case exit
        /// The program was killed by a signal.
        case killed
        /// The recording's time was over.
        case timeLimit
    }

    /// What ended it.
    public var kind: Kind
    /// When, counted from the request.
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
