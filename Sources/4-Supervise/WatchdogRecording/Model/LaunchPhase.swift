// SPDX-License-Identifier: Apache-2.0

/// A part of a launch.
public struct LaunchPhase: Equatable, Sendable {
    /// The activity in a phase.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// The time from the request to the program's execve(2), wrappers and script interpreters included.
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
        /// The time from `main` to the app's `HELLO=1`, or to the end of the launch without one.
        case main
        /// The time from `HELLO=1` to the end of the launch.
        case application
        /// The time from the end of the launch until the app is useful.
        case untilUseful
        /// Tasks that the app has added to its launch.
        case extended
    }

    /// The activity.
    public var kind: Kind
    /// The start, relative to the request.
    public var begin: Duration
    /// The end, relative to the request.
    public var end: Duration
    /// The main thread's use of the phase, without ``stopped``; nil if the rung does not show it.
    public var time: ThreadTime?
    /// Whether the phase ended; false if the program was killed, exited or was released during it.
    public var isComplete: Bool
    /// The time for which the recorder itself stopped the program in it.
    public var stopped: Duration
    /// The samples of the main thread's CPU time in it; nil without any.
    public var samples: SampledCalls?

    /// The duration.
    public var wall: Duration { end - begin }
    /// The duration without the recorder's stops.
    public var ownWall: Duration { max(.zero, wall - stopped) }

    /// Creates a phase.
    public init(
        kind: Kind, begin: Duration, end: Duration, time: ThreadTime? = nil, isComplete: Bool = true,
        stopped: Duration = .zero, samples: SampledCalls? = nil
    ) {
        self.kind = kind
        self.begin = begin
        self.end = end
        self.time = time
        self.isComplete = isComplete
        self.stopped = stopped
        self.samples = samples
    }
}

/// A thread's use of a period.
public struct ThreadTime: Hashable, Sendable {
    /// The time on a CPU.
    public var running: Duration
    /// The time waiting for a CPU: runnable or preempted.
    public var waiting: Duration
    /// The time in which it was not runnable.
    public var blocked: Duration

    /// Creates an account.
    public init(running: Duration = .zero, waiting: Duration = .zero, blocked: Duration = .zero) {
        self.running = running
        self.waiting = waiting
        self.blocked = blocked
    }
}
