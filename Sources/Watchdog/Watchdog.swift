// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogWire

/// The app's side of supervision: tells the supervisor when the app can be used, and proves that its main loop turns.
///
/// Call ``start()`` first thing in the program and ``ready()`` when the app can be used:
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
/// Who listens is decided by the environment, and nothing here fails or needs checking:
/// - Under watchdogd (`WATCHDOG_CHANNEL`), the app says hello and answers each ping from its main loop. The channel is taken
///   out of the environment and is not passed to programs that the app starts.
/// - Under systemd or any other supervisor that speaks sd_notify (`NOTIFY_SOCKET`), readiness and status go there, and the
///   main loop sends `WATCHDOG=1` at half of `WATCHDOG_USEC` if that is meant for this process (`WATCHDOG_PID`).
/// - Otherwise the library is silent.
///
/// Nothing blocks the caller and nothing raises SIGPIPE. If the supervisor does not read fast enough, what could not be sent
/// is kept and tried again: of each kind of statement only the latest. If it goes away, the library falls silent.
///
/// Isolation: every function may be called from any thread. Only the answers to pings, and what ``onTerminate(_:)`` was given,
/// are bound to the main loop.
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
        /// What was said before there was anyone to say it to.
        case idle(ClientMessage)
        case onMainQueue(Session, MainQueueDriver)
        case attached(Session)
    }

    private static let phase = Locked(Phase.idle(ClientMessage()))
    private static let termination = Termination()

    /// Connects to the supervisor and answers for the main queue from now on.
    ///
    /// Call it before the program starts threads, because it changes the environment. A second call, or one after
    /// ``attach()``, does nothing. The main queue has to be served: by ``run()``, `dispatchMain()`, Foundation's main run loop,
    /// or an `async` main.
    public static func start() {
        _ = start(heeding: nil)
    }

    /// Connects to the supervisor for an app that heeds more than pings and the request to end.
    ///
    /// - Parameter lifecycle: Called on the main queue with everything but the request to end.
    /// - Returns: To what the launch should lead; nil when a main loop has been chosen already.
    static func start(
        heeding lifecycle: (@MainActor @Sendable (Session.Incoming) -> Void)?
    ) -> Application.LaunchOptions? {
        phase.withLock { phase in
            guard case .idle(let outbox) = phase else { return nil }
            let configuration = Configuration.takeFromEnvironment()
            let session = Session(configuration, outbox: outbox, hasLifecycle: lifecycle != nil, at: .now())
            let driver = MainQueueDriver(session: session, queue: .main) { incoming in
                if incoming == .terminate {
                    termination.request()
                } else if let lifecycle {
                    MainActor.assumeIsolated { lifecycle(incoming) }
                }
            }
            phase = .onMainQueue(session, driver)
            MainLoop.isMainQueue()
            driver.activate()
            termination.listen()
            return configuration.launch
        }
    }

    /// Connects to the supervisor and leaves it to the caller to answer, for apps whose main loop is not the main queue.
    ///
    /// - Returns: What to wait on and what to call; see ``Link``.
    /// - Throws: ``AttachError`` when a main loop has been chosen already, by ``start()`` or an earlier call.
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

    /// True when a supervisor was found by ``start()`` or ``attach()`` and has not gone away since.
    public static var isSupervised: Bool {
        phase.withLock { phase in
            switch phase {
            case .idle: false
            case .onMainQueue(let session, _), .attached(let session): session.isSupervised
            }
        }
    }

    /// True when marks in time may reach somebody.
    static var hearsMarks: Bool {
        phase.withLock { phase in
            switch phase {
            case .idle: true
            case .onMainQueue(let session, _), .attached(let session): session.descriptor != nil
            }
        }
    }

    /// Says that the app can be used; its launch is over.
    ///
    /// Like everything that is said before ``start()`` or ``attach()``, it is kept until then.
    public static func ready() {
        say { $0.isReady = true }
    }

    /// Says that the app does what it was launched for: it shows what somebody wants to see, or answers its first request.
    ///
    /// Only the first call in a launch counts. It measures and changes no allowance; the launch ends with ``ready()``.
    public static func useful() {
        say { $0.isUseful = true }
    }

    /// Says in one line what the app is doing, for people who look at it from outside.
    ///
    /// - Parameter text: The line, of which the first 1024 bytes are kept; empty to take back the one before.
    public static func status(_ text: String) {
        say { $0.status = text }
    }

    /// Asks for time, counted from now, for work that takes longer than the app is allowed.
    ///
    /// Call it again and again as the work goes on. watchdogd grants time only while the progress changes, and not without
    /// end; a hang is not excused by asking. It may be called from the thread that works while the main loop waits for it.
    ///
    /// - Parameters:
    ///   - duration: The time until the app will be ready, answer or have ended, or will have asked again.
    ///   - progress: Anything that differs from the last time only if the work has advanced, such as `"412 of 1000 rows"`.
    public static func extend(by duration: Duration, progress: String) {
        say { ($0.timeoutExtension, $0.progress) = (duration, progress) }
    }

    /// Leaves a line that will stand in a report about this app, should there be one.
    ///
    /// - Parameter text: The line, of which the first 128 bytes are kept. It replaces the one before.
    public static func summary(_ text: String) {
        say { $0.summary = text }
    }

    /// Says that the app has begun to end.
    public static func stopping() {
        say { $0.isStopping = true }
    }

    /// Sets what to do when the app is asked to end, by SIGTERM or over the channel.
    ///
    /// watchdogd asks in both ways at once, systemd and shells by SIGTERM alone; the handler hears of the first request only.
    /// The app is killed if it has not ended within an allowance. The handler should save what must not be lost, call
    /// ``stopping()`` if that takes a while, and exit.
    ///
    /// With a handler, ``start()`` takes SIGTERM over, so that it no longer ends the app by itself. Without one, SIGTERM does what
    /// it does and the request over the channel does nothing. Set it before ``start()``, or a request may be missed. It replaces
    /// the one before, and is not used after ``attach()``, where ``Link/service()`` returns the request and SIGTERM is the app's
    /// own affair.
    ///
    /// - Parameter handler: Called on the main queue.
    public static func onTerminate(_ handler: @escaping @MainActor @Sendable () -> Void) {
        termination.setHandler(handler)
        phase.withLock { phase in
            guard case .onMainQueue = phase else { return }
            termination.listen()
        }
    }

    /// What services the main queue; nil before ``start()``, and for other main loops.
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
