// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// One line of a trace: something that happened to an app, and when.
public struct TraceEvent: Hashable, Sendable {
    /// What the main loop was asked.
    public enum Question: String, Hashable, Sendable, CaseIterable {
        /// A ping.
        case ping
        /// To enter the foreground.
        case foreground
        /// To enter the background.
        case background
        /// To handle an event.
        case event
    }

    /// How a liveness probe ended.
    public enum Probe: Hashable, Sendable {
        /// By itself.
        case ended(ProbeResult)
        /// It was cancelled after its timeout.
        case noAnswer
    }

    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// The program was executed; everything up to the next launch belongs to this one.
        case launched
        /// A running process was adopted, whose launch nobody saw.
        case adopted
        /// The `Watchdog` library said hello.
        case hello
        /// The app takes part in the lifecycle.
        case joined
        /// The app spoke on its notify socket.
        case notified
        /// The launch is complete.
        case ready(ReadinessSource)
        /// The main loop answered now what it was asked this long ago.
        case answered(Question, after: Duration)
        /// The main loop was asked this long ago, and the process ended without an answer.
        case unanswered(Question, after: Duration)
        /// `WATCHDOG=1`.
        case pushed
        /// `WATCHDOG_USEC`.
        case pushIntervalChanged(Duration)
        /// `WATCHDOG=trigger`.
        case triggered
        /// The app asked for more time.
        case extensionRequested(by: Duration, progress: String?)
        /// A liveness probe that began this long ago is over.
        case probed(Probe, after: Duration)
        /// A signal stopped the main process.
        case stopped
        /// The main process was continued.
        case continued
        /// An examination found that somebody held the process.
        case paused(Pause)
        /// The process is no longer held.
        case resumed
        /// watchdogd itself had not run for this long.
        case overslept(Duration)
        /// The machine had been suspended for this long.
        case machineResumed(Duration)
        /// What the app has used since its launch: CPU time, and how long its main thread waited for a CPU.
        case used(cpu: Duration, waiting: Duration)
        /// An examination found that the main thread had waited this long for a CPU during the allowance.
        case examined(waiting: Duration)
        /// Somebody moved the app, or sent it an event.
        case requested(LifecycleRequest)
        /// A background task began.
        case taskBegan(id: UInt64, name: String)
        /// A background task ended.
        case taskEnded(id: UInt64)
        /// The app was asked to end, or said that it was ending.
        case terminating(isRequested: Bool)
        /// An allowance that had run for `elapsed` was exhausted.
        case incident(WatchdogEvent, allowance: Duration, elapsed: Duration, isKill: Bool)
        /// The main process ended.
        case exited(ExitStatus)
    }

    /// The time since the start of the trace.
    public var at: Duration
    /// What happened.
    public var kind: Kind

    /// Creates an event.
    public init(at: Duration, _ kind: Kind) {
        (self.at, self.kind) = (at, kind)
    }

    /// Whether it is an event of a machine, and not the answer to one of its effects.
    var isInput: Bool {
        switch kind {
        case .answered, .unanswered, .probed, .paused, .resumed, .overslept, .used, .examined, .incident: false
        default: true
        }
    }

    var isExit: Bool { if case .exited = kind { true } else { false } }
    /// Whether it is the first event of a launch.
    var beginsLaunch: Bool { kind == .launched || kind == .adopted }
}
