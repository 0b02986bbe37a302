// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import Watchdog
internal import WatchdogBase
public import WatchdogPolicy
internal import WatchdogWire

/// Runs the app's own delegate in the test process, under the real policy and on virtual time.
///
/// The policy is the one that watchdogd executes: it asks, waits and decides to kill as it would, but a minute passes in
/// milliseconds, and nothing is killed.
///
/// ```swift
/// @Test @MainActor func savesInTime() async {
///     let supervisor = VirtualSupervisor { clock in Editor(clock: clock) }
///     await supervisor.launch()
///     await supervisor.background()
///     await supervisor.advance(by: .seconds(40))
///     #expect(supervisor.kill == nil)
/// }
/// ```
///
/// Code under test that runs on the main actor is deterministic: a task that the clock has woken runs until it waits
/// again before the clock advances. That includes what it awaits from functions that are bound to no actor, such as
/// `Clock.sleep(for:)`: meanwhile, these run on the main actor, too. Work that other threads start, such as Dispatch
/// queues, takes real time, which the clock does not see.
///
/// Isolation: the main actor.
@MainActor
public final class VirtualSupervisor {
    /// A decision to kill the app.
    public struct Kill: Hashable, Sendable {
        /// The termination code.
        public let code: TerminationCode
        /// What the app was being watched for.
        public let event: WatchdogEvent
        /// The time since the beginning of the test.
        public let time: Duration
        /// The background tasks that were open, by name.
        public let openTasks: [String]
    }

    /// The clock for the app's code.
    public let clock: VirtualClock
    /// The app, whose delegate is under test.
    public let application: Application
    /// The policy's decision to kill the app; from then on, the app receives nothing.
    public private(set) var kill: Kill?
    /// Whether the app has exited, by itself or on request.
    public private(set) var hasEnded = false
    private let world: VirtualWorld

    /// Prepares an app.
    ///
    /// - Parameters:
    ///   - settings: The app's allowances; those about processes have no effect.
    ///   - delegate: Creates the delegate, with the clock that its code must use.
    public init(_ settings: LaunchSettings? = nil, _ delegate: (VirtualClock) -> any ApplicationDelegate) {
        let world = VirtualWorld((settings ?? .inherited).spec)
        let clock = VirtualClock(world)
        self.world = world
        self.clock = clock
        let surroundings = Application.Surroundings(
            say: { change in
                var message = ClientMessage()
                change(&message)
                world.receive(message)
            },
            end: {
                world.receive(.exited(.exited(code: 0)))
                world.receive(.treeEmptied)
            },
            now: { DispatchTime(uptimeNanoseconds: UInt64(1_000_000_000 + world.now.nanoseconds)) })
        application = Application(delegate(clock), surroundings)
    }

    // MARK: - Requests

    /// Launches the app, through all its launch callbacks.
    ///
    /// - Parameters:
    ///   - isInBackground: Whether the app begins in the background.
    ///   - event: The kind of the event that it is launched to handle.
    public func launch(inBackground isInBackground: Bool = false, for event: String? = nil) async {
        world.receive(.launchRequested)
        var hello = ClientMessage()
        hello.hello = .init(process: 2, library: nil, hasLifecycle: true)
        world.receive(hello)
        application.launch(.init(isInBackground: isInBackground, eventKind: event))
        await settle()
    }

    /// Sends the app to the background.
    public func background() async { await request(.background) }
    /// Brings the app to the foreground.
    public func foreground() async { await request(.foreground) }
    /// Suspends the app after giving it a chance to clean up.
    public func suspend() async { await request(.suspend) }
    /// Lets a suspended app continue.
    public func resume() async { await request(.resume) }
    /// Has the main loop handle an event.
    public func send(event kind: String, payload: String = "") async {
        await request(.event(kind: kind, payload: payload))
    }
    /// Asks the app to end.
    public func terminate() async {
        world.receive(.terminateRequested)
        await settle()
    }

    private func request(_ request: LifecycleRequest) async {
        world.receive(.lifecycle(.requested(request)))
        await settle()
    }

    // MARK: - Time

    /// Advances the clock, and runs whatever becomes due on the way: the app's own sleeps, pings, deadlines.
    public func advance(by duration: Duration) async {
        let end = world.now + duration
        MainActorDetour.begin()
        defer { MainActorDetour.end() }
        await settle()
        while kill == nil, let next = world.next, next <= end {
            // What the app does at an instant comes before what the policy decides at it.
            world.set(next)
            if world.wake() { await settle() }
            world.pass(to: world.now)
            await respond()
        }
        world.pass(to: max(end, world.now))
        await settle()
    }

    /// Lets the app do all that it can do at this instant.
    private func settle() async {
        MainActorDetour.begin()
        defer { MainActorDetour.end() }
        repeat {
            await withUnsafeContinuation { continuation in run(turns: 16) { continuation.resume() } }
        } while deliver() != nil
        note()
    }

    /// Each turn runs what waits for the main actor, in order; what that leads to waits for the next turn.
    ///
    /// `Task.yield()` does the same, but takes a hundred times as long: it wakes two threads.
    private nonisolated func run(turns: Int, then finish: @escaping @Sendable () -> Void) {
        guard turns > 0 else { return finish() }
        let next: @Sendable () -> Void = { [self] in run(turns: turns - 1, then: finish) }
        if MainActorDetour.isPossible { return DispatchQueue.main.async(execute: next) }
        // Behind what the app has sent to the thread pool.
        DispatchQueue.global().async { DispatchQueue.main.async(execute: next) }
    }

    /// Delivers the app's messages; the app does nothing after a ping, of which an hour has thousands.
    private func respond() async {
        while let message = deliver() {
            if message != SupervisorMessage(ping: message.ping ?? 0) { await settle() }
        }
    }

    /// Delivers the app's next message; nil if there was none.
    private func deliver() -> SupervisorMessage? {
        note()
        guard kill == nil, let message = world.nextMessage() else { return nil }
        if let nonce = message.ping { world.receive(.ponged(nonce: nonce)) }
        application.receive(message)
        return message
    }

    private func note() {
        guard kill == nil, let outcome = world.outcome else { return }
        guard case .watchdog(let incident) = outcome.cause else {
            hasEnded = true
            return
        }
        kill = Kill(
            code: incident.code, event: incident.event, time: world.now,
            openTasks: world.machine.lifecycleRecord.openTasks.map(\.name))
    }

    // MARK: - What is known

    /// The lifecycle state as watchdogd sees it.
    public var state: LifecycleState { world.machine.lifecycleState }
    /// How long the launch took; nil before it is complete.
    public var launchDuration: Duration? { world.machine.launchDuration }
    /// The longest time that the main actor took to answer a ping.
    public var longestHang: Duration { max(world.machine.pings.maximum, world.machine.hangs.maximum) }
    /// The exhausted allowances, including those that did not lead to a kill.
    public var incidents: Int { world.incidents.count }
}

extension LaunchSettings {
    /// What the policy needs to know.
    fileprivate var spec: AppSpec {
        var spec = AppSpec(
            name: "app",
            allowances: Allowances(
                launch: launch ?? .seconds(20), update: update ?? .seconds(10), terminate: terminate ?? .seconds(5)),
            pingInterval: pingInterval / timeScale, readiness: .channel, enforcement: reportsOnly ? .report : .kill)
        spec.lifecycle.background = backgroundTime ?? spec.lifecycle.background
        spec.lifecycle.expiration = min(spec.lifecycle.expiration, spec.lifecycle.background)
        return spec.scaled(by: timeScale)
    }
}
