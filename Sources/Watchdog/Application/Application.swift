// SPDX-License-Identifier: Apache-2.0

package import Dispatch
import Glibc
package import WatchdogWire

/// An app with a lifecycle: it is launched, moves between foreground and background, and exits.
///
/// ```swift
/// import Watchdog
///
/// @main
/// final class Clock: LaunchableApplication {
///     func application(_ application: Application, didFinishLaunchingWith options: Application.LaunchOptions) {
///         drawFace()
///         application.firstFrame()
///     }
/// }
/// ```
///
/// Under watchdogd, the app moves to the state that the supervisor requests, and confirms it. Otherwise it enters the
/// foreground at once and stays there until SIGTERM; under systemd and similar supervisors it also reports that it is
/// ready, sends signs of life from the main loop, and reports when it begins to exit.
///
/// Isolation: the main actor, whose executor is the process's first thread. Members that any thread may call say so.
///
/// ## Topics
/// ### Running
/// - ``main(_:)``
/// - ``shared``
/// - ``state-swift.property``
/// - ``terminate()``
/// - ``ApplicationDelegate``
/// - ``LaunchableApplication``
/// ### Launch
/// - ``firstFrame()``
/// - ``extendLaunch(_:)``
/// - ``finishExtendedLaunch(_:)``
/// ### Events
/// - ``loseEvent()``
/// ### Work in the background
/// - ``beginBackgroundTask(named:expirationHandler:function:file:)``
/// - ``endBackgroundTask(_:)``
/// - ``backgroundTimeRemaining``
/// - ``performExpiringActivity(withReason:using:)``
@MainActor
public final class Application {
    /// The app's dependencies on the rest of the process, which tests replace.
    package struct Surroundings: Sendable {
        var say: @Sendable ((inout ClientMessage) -> Void) -> Void
        /// The store for the state between launches; nil to store none.
        var store: RestorationStore?
        var end: @MainActor @Sendable () -> Void
        var now: @Sendable () -> DispatchTime = { .now() }

        /// Creates the environment of an app that stores no state.
        package init(
            say: @escaping @Sendable ((inout ClientMessage) -> Void) -> Void,
            end: @escaping @MainActor @Sendable () -> Void, now: @escaping @Sendable () -> DispatchTime
        ) {
            self.init(say: say, store: nil, end: end, now: now)
        }

        init(
            say: @escaping @Sendable ((inout ClientMessage) -> Void) -> Void, store: RestorationStore?,
            end: @escaping @MainActor @Sendable () -> Void, now: @escaping @Sendable () -> DispatchTime = { .now() }
        ) {
            (self.say, self.store, self.end, self.now) = (say, store, end, now)
        }
    }

    /// The app of this process.
    ///
    /// Any thread may use it.
    ///
    /// - Precondition: ``main(_:)`` has been called.
    public nonisolated static var shared: Application {
        guard let application = current.withLock({ $0 }) else {
            preconditionFailure("Application.shared exists only after Application.main(_:) has been called")
        }
        return application
    }

    /// The state that the app is in, which the callbacks of the delegate announce.
    public internal(set) var state = State.inactive
    /// The delegate that implements the app.
    public let delegate: any ApplicationDelegate

    let surroundings: Surroundings
    let backgroundTasks: BackgroundTasks
    var extendedLaunch = ExtendedLaunch()
    /// Messages that arrived during the launch; handled when it is complete.
    var waiting: [Session.Incoming] = []
    var isLaunched = false
    var isEnding = false
    var hasShownFrame = false
    /// Whether nothing listens for the event that is being handled.
    var isEventLost = false
    var (lastTransition, lastEvent): (UInt64, UInt64) = (0, 0)

    private nonisolated static let current = Locked<Application?>(nil)

    package init(_ delegate: any ApplicationDelegate, _ surroundings: Surroundings) {
        self.delegate = delegate
        self.surroundings = surroundings
        backgroundTasks = BackgroundTasks(say: surroundings.say, now: surroundings.now)
    }

    /// Launches the app and serves its main loop, forever.
    ///
    /// - Parameter delegate: Implements the app; kept until the process exits.
    /// - Precondition: Called once, on the process's first thread, instead of ``Watchdog/start()`` and
    ///   ``Watchdog/run()``.
    public static func main(_ delegate: any ApplicationDelegate) -> Never {
        let surroundings = Surroundings(
            say: { Watchdog.say($0) },
            store: delegate.restorationIdentifier.flatMap { RestorationStore(identifier: $0) },
            end: { exit(EXIT_SUCCESS) }
        )
        let application = Application(delegate, surroundings)
        current.withLock { $0 = application }
        Watchdog.onTerminate { application.terminate() }
        let options = Watchdog.start { application.receive($0) }
        guard let options else {
            preconditionFailure("call Application.main(_:) only once, and instead of Watchdog.start()")
        }
        // Run on the queue, like everything after it, so that assertions about the main queue hold here, too.
        DispatchQueue.main.async { application.launch(options) }
        Watchdog.run()
    }
}

extension Application {
    /// How visible the app is to the user, as the supervisor last requested.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// The app is launching, or is moving between the other two states.
        case inactive
        /// The user sees the app and can use it.
        case active
        /// The user does not see the app, which may be suspended at any time.
        case background
    }
}

extension Application {
    /// Something that the supervisor hands to the app to handle.
    public struct Event: Hashable, Sendable {
        /// The kind of the event, such as `url`.
        public let kind: String
        /// Details in one line, which only the sender and the app interpret.
        public let payload: String

        /// The app that asked for the event, under the name by which the supervisor knows it; nil if somebody else did.
        ///
        /// The supervisor determined it, so no app can claim to be another.
        public let sender: String?

        /// Creates an event, for tests of a delegate.
        public init(kind: String, payload: String = "", sender: String? = nil) {
            self.kind = kind
            self.payload = payload
            self.sender = sender
        }

        init(_ event: SupervisorMessage.Event) {
            self.init(kind: event.kind, payload: event.payload, sender: event.sender)
        }
    }
}

extension Application {
    /// The cause of a launch, and the state in which the app starts.
    public struct LaunchOptions: Hashable, Sendable {
        /// Whether the app is launched into the background, where it stays until the user opens it.
        public internal(set) var isInBackground = false
        /// The kind of the event that the app is launched to handle; nil if it is launched for no event.
        ///
        /// The event itself is delivered right after the launch, to ``ApplicationDelegate/application(_:handle:)``.
        public internal(set) var eventKind: String?

        /// Creates the options of a launch into the foreground without an event.
        public init() {}

        package init(isInBackground: Bool, eventKind: String?) {
            (self.isInBackground, self.eventKind) = (isInBackground, eventKind)
        }
    }
}

/// A delegate that is a whole program, for `@main`.
///
/// ```swift
/// @main
/// final class Clock: LaunchableApplication {
///     func applicationDidBecomeActive(_ application: Application) { print("tick") }
/// }
/// ```
@MainActor
public protocol LaunchableApplication: ApplicationDelegate {
    /// Creates the delegate, before the app is launched.
    init()
}

extension LaunchableApplication {
    /// Runs the app.
    public static func main() {
        Application.main(Self())
    }
}
