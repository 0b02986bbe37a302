// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogWire

/// The app's side of supervision: reports when the app is ready for use, and proves that its main loop runs.
///
/// Call ``start()`` first and ``ready()`` when the app is ready for use:
///
/// ```swift
/// import Watchdog
///
/// Watchdog.start()
/// openWindow()
/// Watchdog.ready()
/// Watchdog.run()
/// ```
///
/// The environment determines the supervisor. Nothing here fails or needs checking:
/// - Under watchdogd (`WATCHDOG_CHANNEL`), the app sends a greeting and answers each ping from its main loop. The
///   channel is removed from the environment, and programs that the app starts do not inherit it.
/// - Under systemd or any other supervisor that speaks sd_notify (`NOTIFY_SOCKET`), readiness and status go there, and
///   the main loop sends `WATCHDOG=1` at half of `WATCHDOG_USEC` if that is meant for this process (`WATCHDOG_PID`).
/// - Otherwise the library does nothing.
///
/// Nothing blocks the caller, and nothing raises SIGPIPE. If the supervisor does not read fast enough, the library
/// keeps the latest message of each kind and sends it later. If the supervisor exits, the library sends nothing more.
///
/// Isolation: call every function from any thread. Only the answers to pings and the handler of ``onTerminate(_:)`` run
/// on the main loop.
///
/// ## Topics
/// ### Life of an app
/// - ``start()``
/// - ``ready()``
/// - ``useful()``
/// - ``stopping()``
/// - ``run()``
/// ### While it runs
/// - ``status(_:)``
/// - ``extend(by:progress:)``
/// - ``summary(_:)``
/// - ``onTerminate(_:)``
/// - ``isSupervised``
/// ### With a lifecycle
/// - ``Application``
/// ### Other main loops
/// - ``attach()``
/// - ``Link``
/// - ``Event``
/// - ``AttachError``
public enum Watchdog {
    private enum Phase: Sendable {
        /// Messages queued before ``start()`` or ``attach()``.
        case idle(ClientMessage)
        case onMainQueue(Session, MainQueueDriver)
        case attached(Session)
    }

    private static let phase = Locked(Phase.idle(ClientMessage()))
    private static let termination = Termination()

    /// Connects to the supervisor, and from then on answers pings on the main queue.
    ///
    /// Call it before the program starts threads, because it changes the environment. A second call, or one after
    /// ``attach()``, does nothing. Something must serve the main queue: ``run()``, `dispatchMain()`, Foundation's main
    /// run loop, or an `async` main.
    public static func start() {
        _ = start(heeding: nil)
    }

    /// Connects to the supervisor for an app with a lifecycle, which also handles states and events.
    ///
    /// - Parameter lifecycle: Called on the main queue with everything but the request to exit.
    /// - Returns: The state in which the launch should end; nil if a main loop was chosen before.
    static func start(
        heeding lifecycle: (@MainActor @Sendable (Session.Incoming) -> Void)?
    ) -> Application.LaunchOptions? {
        phase.withLock { phase in
            guard case .idle(let outbox) = phase else { return nil }
            let configuration = Configuration.takeFromEnvironment()
            let session = Session(configuration, outbox: outbox, hasLifecycle: lifecycle != nil, at: .now())
            let driver = MainQueueDriver(session: session, queue: .main) { incoming in
                switch incoming {
                case .terminate: termination.request()
                case .hang(let duration): HangOnDemand.block(for: duration)
                default:
                    if let lifecycle { MainActor.assumeIsolated { lifecycle(incoming) } }
                }
            }
            phase = .onMainQueue(session, driver)
            MainLoop.isMainQueue()
            driver.activate()
            termination.listen()
            return configuration.launch
        }
    }

    /// Connects to the supervisor and lets the caller answer, for apps whose main loop is not the main queue.
    ///
    /// - Returns: The descriptor to poll and the method to call; see ``Link``.
    /// - Throws: ``AttachError`` if a main loop was chosen before, by ``start()`` or an earlier call.
    public static func attach() throws(AttachError) -> Link {
        let session: Session? = phase.withLock { phase in
            guard case .idle(let outbox) = phase else { return nil }
            let session = Session(.takeFromEnvironment(), outbox: outbox, at: .now())
            phase = .attached(session)
            MainLoop.isCurrentThread()
            return session
        }
        guard let session else { throw AttachError() }
        return Link(session)
    }

    /// Whether ``start()`` or ``attach()`` found a supervisor that still exists.
    public static var isSupervised: Bool {
        phase.withLock { phase in
            switch phase {
            case .idle: false
            case .onMainQueue(let session, _), .attached(let session): session.isSupervised
            }
        }
    }

    /// Whether signposts may have a receiver.
    static var hearsMarks: Bool {
        phase.withLock { phase in
            switch phase {
            case .idle: true
            case .onMainQueue(let session, _), .attached(let session): session.descriptor != nil
            }
        }
    }

    /// Reports that the app can be used, which completes its launch.
    ///
    /// A report made before ``start()`` or ``attach()`` is sent when one of them is called.
    public static func ready() {
        say { $0.isReady = true }
    }

    /// Reports that the app does its actual work: it shows its content, or answers its first request.
    ///
    /// Only the first call in a launch counts. It is a measurement and changes no allowance; ``ready()`` completes the
    /// launch.
    public static func useful() {
        say { $0.isUseful = true }
    }

    /// Reports in one line what the app is doing, for people who watch it from outside.
    ///
    /// - Parameter text: The line, of which the first 1024 bytes are kept; empty to clear the previous one.
    public static func status(_ text: String) {
        say { $0.status = text }
    }

    /// Requests more time, from now, for work that takes longer than the allowance.
    ///
    /// Call it repeatedly while the work continues. watchdogd grants time only while the progress changes, up to a
    /// limit; asking does not excuse a hang. A thread that the main loop waits for may call this.
    ///
    /// - Parameters:
    ///   - duration: The time in which the app will be ready, answer, exit, or ask again.
    ///   - progress: A text that changes only when the work has advanced, such as
    ///     `"412 of 1000 rows"`.
    public static func extend(by duration: Duration, progress: String) {
        say { ($0.timeoutExtension, $0.progress) = (duration, progress) }
    }

    /// Sets a line that a report about this app will contain.
    ///
    /// - Parameter text: The line, of which the first 128 bytes are kept. It replaces the previous one.
    public static func summary(_ text: String) {
        say { $0.summary = text }
    }

    /// Reports that the app has begun to exit, so that its termination allowance applies.
    public static func stopping() {
        say { $0.isStopping = true }
    }

    /// Sets the handler for exit requests, which arrive by SIGTERM or over the channel.
    ///
    /// watchdogd uses both, systemd and shells only SIGTERM; the handler is called once. watchdogd kills an app that
    /// does not exit within an allowance. The handler should save what must not be lost, call ``stopping()`` if that
    /// takes a while, and exit.
    ///
    /// With a handler, ``start()`` takes over SIGTERM, so the signal does not end the app. Without one, SIGTERM keeps
    /// its effect, and a request over the channel does nothing. Set the handler before ``start()``, or the app may miss
    /// a request. It replaces the previous one. After ``attach()`` it is not used: ``Link/service()`` returns the
    /// request, and the app handles SIGTERM itself.
    ///
    /// - Parameter handler: Called on the main queue.
    public static func onTerminate(_ handler: @escaping @MainActor @Sendable () -> Void) {
        termination.setHandler(handler)
        phase.withLock { phase in
            guard case .onMainQueue = phase else { return }
            termination.listen()
        }
    }

    /// The driver of the main queue; nil before ``start()``, and for other main loops.
    static var mainQueueDriver: MainQueueDriver? {
        phase.withLock { phase in
            if case .onMainQueue(_, let driver) = phase { driver } else { nil }
        }
    }

    static func say(_ change: (inout ClientMessage) -> Void) {
        phase.withLock { phase in
            switch phase {
            case .idle(var outbox):
                change(&outbox)
                phase = .idle(outbox)
            case .onMainQueue(let session, let driver):
                guard session.send(at: .now(), change) else { return }
                driver.serviceSoon()
            case .attached(let session):
                _ = session.send(at: .now(), change)
            }
        }
    }
}

extension Watchdog {
    /// The app's main loop has already been chosen.
    ///
    /// Only one loop may answer: with two, whichever ran first would answer a ping.
    public struct AttachError: Error, CustomStringConvertible {
        /// An explanation for people.
        public var description: String {
            "the main loop to watch was already chosen, by Watchdog.start() or Watchdog.attach()"
        }
    }
}
