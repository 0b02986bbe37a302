// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
public import Watchdog
internal import WatchdogBase
public import WatchdogPolicy
internal import WatchdogWire

/// Runs the app's own delegate in the test process, under the real policy and on virtual time.
///
/// The policy is the code that watchdogd runs: it pings, waits and decides to kill in the same way, but a minute passes
/// in milliseconds, and no process is killed.
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
/// again before the clock advances. That includes nonisolated functions that it awaits, such as `Clock.sleep(for:)`:
/// meanwhile, these run on the main actor, too. Work on other threads, such as Dispatch queues, takes real time, which
/// the clock does not include.
///
/// Isolation: the main actor.
@MainActor
public final class VirtualSupervisor {
    /// A decision to kill the app.
    public struct Kill: Hashable, Sendable {
        /// The termination code.
        public let code: TerminationCode
        /// The watched event.
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
        await runPending()
    }

    /// Sends the app to the background.
    public func background() async { await request(.background) }
    /// Brings the app to the foreground.
    public func foreground() async { await request(.foreground) }
    /// Suspends the app after giving it a chance to clean up.
    public func suspend() async { await request(.suspend) }
    /// Lets a suspended app continue.
    public func resume() async { await request(.resume) }
    /// Delivers an event, and waits until the main loop has handled it.
    public func send(event kind: String, payload: String = "") async {
        await request(.event(kind: kind, payload: payload))
    }
    /// Requests the app's exit.
    public func terminate() async {
        world.receive(.terminateRequested)
        await runPending()
    }

    private func request(_ request: LifecycleRequest) async {
        world.receive(.lifecycle(.requested(request)))
        await runPending()
    }

    // MARK: - Time

    /// Advances the clock, and executes what becomes due in that time: the app's own sleeps, pings and deadlines.
    public func advance(by duration: Duration) async {
        let end = world.now + duration
        MainActorDetour.begin()
        defer { MainActorDetour.end() }
        await runPending()
        while kill == nil, let next = world.next, next <= end {
            // At each instant, the app runs before the policy decides.
            world.set(next)
            if world.wake() { await runPending() }
            world.pass(to: world.now)
            await respond()
        }
        world.pass(to: max(end, world.now))
        await runPending()
    }

    /// Runs the app until it has nothing more to do at this instant.
    private func runPending() async {
        MainActorDetour.begin()
        defer { MainActorDetour.end() }
        repeat {
            await withUnsafeContinuation { continuation in run(turns: 16) { continuation.resume() } }
        } while deliver() != nil
        note()
    }

    /// Each turn runs the jobs that are queued on the main actor, in order; new jobs run in the next turn.
    ///
    /// `Task.yield()` does the same, but takes a hundred times as long: it wakes two threads.
    private nonisolated func run(turns: Int, then finish: @escaping @Sendable () -> Void) {
        guard turns > 0 else { return finish() }
        let next: @Sendable () -> Void = { [self] in run(turns: turns - 1, then: finish) }
        if MainActorDetour.isPossible { return DispatchQueue.main.async(execute: next) }
        // Run after the jobs that the app has sent to the thread pool.
        DispatchQueue.global().async { DispatchQueue.main.async(execute: next) }
    }

    /// Delivers the app's messages.
    ///
    /// After a ping, there is nothing to run, which matters: an hour has thousands of pings.
    private func respond() async {
        while let message = deliver() {
            if message != SupervisorMessage(ping: message.ping ?? 0) { await runPending() }
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

    /// The lifecycle state in watchdogd's model.
    public var state: LifecycleState { world.machine.lifecycleState }
    /// The duration of the launch; nil before it is complete.
    public var launchDuration: Duration? { world.machine.launchDuration }
    /// The longest time that the main actor took to answer a ping.
    public var longestHang: Duration { max(world.machine.pings.maximum, world.machine.hangs.maximum) }
    /// The number of exhausted allowances, including those that did not lead to a kill.
    public var incidents: Int { world.incidents.count }
}

extension LaunchSettings {
    /// The settings in the form of the policy.
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
