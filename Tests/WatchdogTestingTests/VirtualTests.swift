// SPDX-License-Identifier: Apache-2.0

import Testing
import Watchdog
import WatchdogTesting

/// Saves in the background, in chunks on the main actor.
@MainActor
final class Editor: ApplicationDelegate {
    private let clock: VirtualClock
    /// How long one chunk occupies the main actor.
    var chunk: Duration = .seconds(1)
    var chunks = 0
    /// How long the expiration handler cleans up before it ends the task.
    var cleanUp: Duration?
    /// The number of nonisolated functions that it then calls.
    var calls = 0
    private(set) var saved = 0
    private(set) var events: [String] = []

    init(clock: VirtualClock) { self.clock = clock }

    func applicationDidEnterBackground(_ application: Application) {
        let task = application.beginBackgroundTask(named: "save") { [self] task in
            guard let cleanUp else { return }
            Task {
                try? await clock.sleep(for: cleanUp)
                for _ in 0..<calls { await Self.compute() }
                application.endBackgroundTask(task)
            }
        }
        guard chunks > 0 else { return }
        Task {
            for _ in 0..<chunks {
                clock.block(for: chunk)
                saved += 1
                try? await clock.sleep(for: .milliseconds(1))
            }
            application.endBackgroundTask(task)
        }
    }

    @concurrent
    private nonisolated static func compute() async {}

    func application(_ application: Application, handle event: Application.Event) {
        events.append(event.kind)
        if event.kind == "hang" { clock.block(for: .seconds(Int(event.payload) ?? 0)) }
    }
}

@Suite("A test on virtual time")
@MainActor
struct VirtualTests {
    private func editing(_ settings: LaunchSettings? = nil) -> (VirtualSupervisor, Editor) {
        var made: Editor?
        let supervisor = VirtualSupervisor(settings) { clock in
            let editor = Editor(clock: clock)
            made = editor
            return editor
        }
        guard let made else { preconditionFailure("the delegate is made at once") }
        return (supervisor, made)
    }

    @Test("An expiration handler that ends its task after 4.9 s is in time; after 5.1 s it is not")
    func expiration() async throws {
        let (inTime, editor) = editing()
        editor.cleanUp = .milliseconds(4_900)
        await inTime.launch()
        #expect(inTime.launchDuration == .zero)
        await inTime.background()
        #expect(inTime.state == .background)
        await inTime.advance(by: .seconds(29.8))
        #expect(inTime.kill == nil)
        await inTime.advance(by: .seconds(10))
        #expect(inTime.kill == nil)

        let (late, slow) = editing()
        slow.cleanUp = .milliseconds(5_100)
        await late.launch()
        await late.background()
        await late.advance(by: .seconds(60))
        let kill = try #require(late.kill)
        #expect(kill.code == .backgroundTask)
        #expect(kill.openTasks == ["save"])
        #expect(kill.time >= .seconds(30) && kill.time < .seconds(31))
    }

    @Test("A ping is answered between two chunks of work; a chunk that is too long is a kill")
    func chunks() async throws {
        let (supervisor, editor) = editing()
        (editor.chunk, editor.chunks) = (.milliseconds(9_900), 2)
        await supervisor.launch()
        await supervisor.background()
        await supervisor.advance(by: .seconds(25))
        #expect(supervisor.kill == nil)
        #expect(editor.saved == 2)
        #expect(supervisor.longestHang > .seconds(9))

        let (hanging, worker) = editing()
        (worker.chunk, worker.chunks) = (.milliseconds(10_200), 1)
        await hanging.launch()
        await hanging.background()
        await hanging.advance(by: .seconds(25))
        #expect(hanging.kill?.event == .sceneUpdate)
    }

    @Test("An event that blocks the main loop is a hang; the scale shortens its allowance")
    func events() async throws {
        let (supervisor, editor) = editing()
        await supervisor.launch()
        await supervisor.send(event: "hang", payload: "9")
        #expect(editor.events == ["hang"])
        #expect(supervisor.kill == nil)
        let (scaled, _) = editing(LaunchSettings(timeScale: 0.5))
        await scaled.launch()
        await scaled.send(event: "hang", payload: "9")
        #expect(scaled.kill?.code == .ateBadFood)
    }

    @Test("An app that has ended its tasks is suspended and receives nothing until it is resumed")
    func suspension() async throws {
        let (supervisor, editor) = editing()
        (editor.chunk, editor.chunks) = (.seconds(1), 1)
        await supervisor.launch()
        await supervisor.background()
        await supervisor.advance(by: .seconds(20))
        #expect(supervisor.state == .suspended)
        await supervisor.advance(by: .seconds(3_600))
        #expect(supervisor.kill == nil)
        await supervisor.foreground()
        await supervisor.advance(by: .seconds(1))
        #expect(supervisor.state == .foreground)
        await supervisor.terminate()
        #expect(supervisor.hasEnded)
    }

    @Test("The remaining time follows the virtual clock")
    func remainingTime() async throws {
        let (supervisor, editor) = editing()
        editor.cleanUp = .zero
        await supervisor.launch()
        #expect(supervisor.application.backgroundTimeRemaining == nil)
        await supervisor.background()
        #expect(supervisor.application.backgroundTimeRemaining == .seconds(30))
        await supervisor.advance(by: .seconds(12))
        #expect(supervisor.application.backgroundTimeRemaining == .seconds(18))
    }

    @Test("The main actor's calls of nonisolated functions take no virtual time")
    func calls() async {
        // Each is as likely to be late as the one before, if it runs on its own thread.
        for _ in 0..<10 {
            let (supervisor, editor) = editing()
            (editor.cleanUp, editor.calls) = (.nanoseconds(4_999_999_999), 5)
            await supervisor.launch()
            await supervisor.background()
            await supervisor.advance(by: .seconds(31))
            #expect(supervisor.kill == nil)
            #expect(supervisor.state == .suspended)
        }
    }

    @Test("A canceled sleep ends immediately")
    func cancellation() async {
        let (supervisor, _) = editing()
        let clock = supervisor.clock
        let task = Task { try await clock.sleep(for: .seconds(1)) }
        await supervisor.advance(by: .milliseconds(500))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
