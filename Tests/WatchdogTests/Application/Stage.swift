// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing
import WatchdogWire

@testable import Watchdog

/// A delegate that records its calls, and may react to them.
@MainActor
final class Recorder: ApplicationDelegate {
    private(set) var calls: [String] = []
    private(set) var options: Application.LaunchOptions?
    private(set) var events: [Application.Event] = []
    private(set) var restored: [UInt8]?
    var stateToKeep: [UInt8]?
    var reactions: [String: @MainActor (Application) -> Void] = [:]

    private func note(_ call: String, _ application: Application) {
        calls.append(call)
        reactions[call]?(application)
    }

    /// The calls since the last time.
    func takeCalls() -> [String] {
        defer { calls = [] }
        return calls
    }

    func application(_ application: Application, willFinishLaunchingWith options: Application.LaunchOptions) {
        self.options = options
        note("will finish launching", application)
    }

    func application(_ application: Application, didDecodeRestorableState state: [UInt8]) {
        restored = state
        note("did decode", application)
    }

    func application(_ application: Application, didFinishLaunchingWith options: Application.LaunchOptions) {
        note("did finish launching", application)
    }

    func applicationDidBecomeActive(_ application: Application) { note("did become active", application) }

    func applicationWillResignActive(_ application: Application) { note("will resign active", application) }

    func applicationDidEnterBackground(_ application: Application) { note("did enter background", application) }

    func applicationWillEnterForeground(_ application: Application) { note("will enter foreground", application) }

    func applicationWillTerminate(_ application: Application) { note("will terminate", application) }

    func application(_ application: Application, handle event: Application.Event) {
        events.append(event)
        note("event \(event.kind)", application)
    }

    func applicationWillEncodeRestorableState(_ application: Application) -> [UInt8]? {
        note("will encode", application)
        return stateToKeep
    }
}

/// An app whose supervisor is the test: the test holds the other end of its channel, and turns its main loop.
@MainActor
final class Stage {
    let channel = Channel()
    let delegate = Recorder()
    let application: Application
    private let session: Session
    private let now = Locked(DispatchTime.t0)
    private let ends = Locked(0)

    /// How often the app has tried to end the process.
    var endCount: Int { ends.withLock { $0 } }

    init(store: RestorationStore? = nil) throws {
        let descriptor = try #require(Descriptor.channel(inherited: channel.app))
        let session = Session(Configuration(transport: .channel(descriptor)), hasLifecycle: true, at: .t0)
        self.session = session
        let surroundings = Application.Surroundings(
            say: { [now] change in _ = session.send(at: now.withLock { $0 }, change) },
            store: store,
            end: { [ends] in ends.withLock { $0 += 1 } }
        )
        application = Application(delegate, surroundings)
    }

    /// A stage whose app is launched, without the calls and messages until then.
    static func launched(inBackground: Bool = false) throws -> Stage {
        let stage = try Stage()
        stage.launch(inBackground: inBackground)
        _ = stage.turn()
        _ = stage.delegate.takeCalls()
        return stage
    }

    func launch(inBackground: Bool = false, event: String? = nil) {
        var options = Application.LaunchOptions()
        (options.isInBackground, options.eventKind) = (inBackground, event)
        application.launch(options)
    }

    /// Sends the app a message.
    func send(_ build: (inout SupervisorMessage) -> Void) {
        var message = SupervisorMessage()
        build(&message)
        #expect(channel.send(message))
    }

    func send(_ visibility: SupervisorMessage.Visibility, _ id: UInt64, time: Duration? = nil) {
        send { ($0.transition, $0.backgroundTime) = (.init(to: visibility, id: id), time) }
    }

    /// Lets the app handle its messages.
    ///
    /// - Returns: The app's messages since the last time.
    func turn(after nanoseconds: Int = 0) -> [ClientMessage] {
        let time = now.withLock { now in
            now = now + .nanoseconds(nanoseconds)
            return now
        }
        for incoming in session.service(at: time) { application.receive(incoming) }
        return channel.drain()
    }

    /// Moves the app to the background and drops the messages on the way.
    func enterBackground(_ id: UInt64 = 1, time: Duration? = .seconds(30)) {
        send(.background, id, time: time)
        #expect(turn().last?.stateDone == id)
        _ = delegate.takeCalls()
    }

    /// Notifies the app that the time is nearly over.
    func expire() -> [ClientMessage] {
        send { $0.isExpiring = true }
        return turn()
    }
}
