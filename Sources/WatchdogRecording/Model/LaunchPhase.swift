// SPDX-License-Identifier: Apache-2.0

/// A part of a launch.
public struct LaunchPhase: Equatable, Sendable {
    /// What happens in a phase.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// From the request to the program's execve(2), wrappers and script interpreters included.
        case request
        /// The kernel executes the program, up to its first instruction.
        case exec
        /// The dynamic linker starts.
        case linkerStart
        /// The dynamic linker maps the libraries.
        case mapping
        /// The dynamic linker relocates the libraries.
        case relocation
        /// The libraries' constructors run.
        case libraryConstructors
        /// The program's own constructors run.
        case ownConstructors
        /// From `main` to the app's `HELLO=1`, or to the end of the launch if it never says hello.
        case main
        /// From `HELLO=1` to the end of the launch.
        case application
        /// From the end of the launch to the moment at which the app is useful.
        case untilUseful
        /// Tasks that the app has added to its launch.
        case extended
    }

    /// What happens in it.
    public var kind: Kind
    /// When it begins, counted from the request.
    public var begin: Duration
    /// When it ends, counted from the request.
    public var end: Duration
    /// How the main thread spent the phase, without ``stopped``; nil where the rung does not tell.
    public var time: ThreadTime?
    /// Whether the phase ended; false if the program was killed, exited or was let go during it.
    public var isComplete: Bool
    /// For how long the recorder itself stopped the program in it.
    public var stopped: Duration

    /// From its beginning to its end.
    public var wall: Duration { end - begin }
    /// How long it would have taken without the recorder's stops.
    public var ownWall: Duration { max(.zero, wall - stopped) }

    /// Creates a phase.
    public init(
        kind: Kind, begin: Duration, end: Duration, time: ThreadTime? = nil, isComplete: Bool = true,
        stopped: Duration = .zero
    ) {
        self.kind = kind
        self.begin = begin
        self.end = end
        self.time = time
        self.isComplete = isComplete
        self.stopped = stopped
    }
}

/// How a thread spent a time.
public struct ThreadTime: Hashable, Sendable {
    /// On a CPU.
    public var running: Duration
    /// Able to run, but another thread had the CPU: runnable or preempted.
    public var waiting: Duration
    /// Not able to run.
    public var blocked: Duration

    /// Creates an account.
    public init(running: Duration = .zero, waiting: Duration = .zero, blocked: Duration = .zero) {
        self.running = running
        self.waiting = waiting
        self.blocked = blocked
    }
}
