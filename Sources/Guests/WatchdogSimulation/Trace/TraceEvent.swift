// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogPolicy

/// One line of a trace: an event of an app, and its time.
public struct TraceEvent: Hashable, Sendable {
    /// A request to the main loop that requires an answer.
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

    /// The end of a liveness probe.
    public enum Probe: Hashable, Sendable {
        /// It ended by itself.
        case ended(ProbeResult)
        /// It was cancelled after its timeout.
        case noAnswer
    }

    /// The kinds of events.
    public enum Kind: Hashable, Sendable {
        /// The program was executed; everything up to the next launch belongs to this one.
        case launched
        /// watchdogd adopted a running process whose launch it did not observe.
        case adopted
        /// The `Watchdog` library sent its greeting.
        case hello
        /// The app takes part in the lifecycle.
        case joined
        /// The app sent a message to its notify socket.
        case notified
        /// The launch is complete.
        case ready(ReadinessSource)
        /// The main loop answered a question that was sent this long ago.
        case answered(Question, after: Duration)
        /// The process ended without an answer to a question that was sent this long ago.
        case unanswered(Question, after: Duration)
        /// The app sent `WATCHDOG=1`.
        case pushed
        /// The app sent `WATCHDOG_USEC`.
        case pushIntervalChanged(Duration)
        /// The app sent `WATCHDOG=trigger`.
        case triggered
        /// The app requested more time.
        case extensionRequested(by: Duration, progress: String?)
        /// A liveness probe that began this long ago ended.
        case probed(Probe, after: Duration)
        /// A signal stopped the main process.
        case stopped
        /// The main process was continued.
        case continued
        /// An examination found that the process was held from outside.
        case paused(Pause)
        /// The process is no longer held.
        case resumed
        /// watchdogd itself had not run for this long.
        case overslept(Duration)
        /// The machine had been suspended for this long.
        case machineResumed(Duration)
        /// The app's usage since its launch: CPU time, and the main thread's wait for a CPU.
        case used(cpu: Duration, waiting: Duration)
        /// An examination found the main thread's wait for a CPU during the allowance.
        case examined(waiting: Duration)
        /// A client requested a state of the app, or sent it an event.
        case requested(LifecycleRequest)
        /// A background task began.
        case taskBegan(id: UInt64, name: String)
        /// A background task ended.
        case taskEnded(id: UInt64)
        /// The app was requested to exit, or reported that it exits.
        case terminating(isRequested: Bool)
        /// An allowance that had run for `elapsed` was exhausted.
        case incident(WatchdogEvent, allowance: Duration, elapsed: Duration, isKill: Bool)
        /// The main process ended.
        case exited(ExitStatus)
    }

    /// The time since the start of the trace.
    public var at: Duration
    /// The kind of the event.
    public var kind: Kind

    /// Creates an event at a time since the start of the trace.
    public init(at: Duration, _ kind: Kind) {
        (self.at, self.kind) = (at, kind)
    }

    /// Whether it is an input of the machine, and not the answer to one of its effects.
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
