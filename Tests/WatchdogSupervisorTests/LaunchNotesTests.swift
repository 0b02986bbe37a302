// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogHistory
import WatchdogPolicy
import WatchdogWire

@testable import WatchdogDaemon
@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The history of a launch, on virtual time")
struct LaunchNotesTests {
    /// Records a launch as the history does, without a disk.
    private final class Keeper {
        private(set) var record: KeptLaunch?
        /// How often a record was written, and how often one was completed.
        private(set) var written = 0
        private(set) var completed = 0
        var notes = LaunchNotes()
        private let supervisor: Supervisor
        private let requested: LaunchMoment

        init(_ kernel: ScriptedEffects, _ supervisor: Supervisor) {
            self.supervisor = supervisor
            requested = LaunchMoment(instant: kernel.now, time: WallTime(seconds: 1_800_000_000))
            let note = supervisor.onNotice
            supervisor.onNotice = { [unowned self] notice in
                note(notice)
                perform(notes.step(notice))
            }
            let finish = supervisor.onFinish
            supervisor.onFinish = { [unowned self] outcome in
                finish(outcome)
                perform(notes.end())
            }
        }

        func perform(_ step: LaunchNotes.Step?) {
            let machine = supervisor.machine
            let subject = LaunchSubject(
                app: "App", host: "alpha", requested: requested, launchedAt: machine.launchedAt,
                ready: machine.launchDuration, trace: supervisor.trace)
            switch step {
            case .ready:
                written += 1
                record = subject.record(outcome: .ready, notes)
            case .ended:
                written += 1
                record = subject.record(outcome: .ended, notes)
            case .complete(let moments):
                guard let completion = subject.completion(moments) else { return }
                completed += 1
                record?.complete(with: completion)
            case nil: break
            }
        }
    }

    private let kernel = ScriptedEffects()

    private func launch(_ hello: String = "HELLO=1\n") -> (Keeper, Supervisor) {
        var spec = AppSpec(name: "App")
        spec.allowances.update = .seconds(100_000)
        let supervisor = kernel.supervise(spec)
        let keeper = Keeper(kernel, supervisor)
        supervisor.launch()
        kernel.say(hello)
        return (keeper, supervisor)
    }

    private func say(_ text: String, after delay: Duration) {
        kernel.run(for: delay)
        kernel.say(text)
    }

    /// The app exits, and all its processes are gone a moment later.
    private func exit(_ code: Int32) {
        kernel.supervisor?.handle(.exited(.exited(code: code)))
        kernel.run(for: .seconds(1))
    }

    @Test("the first frame and first use are recorded, however late they are", arguments: [1, 3_600])
    func late(seconds: Int64) {
        let (keeper, _) = launch()
        say("READY=1\n", after: .seconds(1))
        say("FIRST_FRAME=1\n", after: .seconds(seconds))
        say("USEFUL=1\n", after: .seconds(seconds))
        #expect(
            keeper.record?.moments == [
                .exec: .zero, .hello: .zero, .ready: .seconds(1), .firstFrame: .seconds(1 + seconds),
                .useful: .seconds(1 + 2 * seconds),
            ])
        #expect(keeper.written == 1 && keeper.completed == 2)
        say("FIRST_FRAME=1\nUSEFUL=1\n", after: .seconds(1))
        #expect(keeper.completed == 2)
    }

    @Test("an app that reports on the notify socket is recorded too")
    func notified() {
        let (keeper, _) = launch("STATUS=loading\n")
        kernel.run(for: .seconds(1))
        kernel.notify("READY=1\n")
        kernel.run(for: .seconds(1))
        kernel.notify("FIRST_FRAME=1\nUSEFUL=1\n")
        #expect(keeper.record?.moments[.firstFrame] == .seconds(2))
        #expect(keeper.record?.moments[.useful] == .seconds(2))
    }

    @Test("marks that come with READY=1 are recorded immediately")
    func together() {
        let (keeper, _) = launch()
        say("READY=1\nFIRST_FRAME=1\nUSEFUL=1\n", after: .seconds(1))
        #expect(keeper.record?.moments[.useful] == .seconds(1) && keeper.record?.moments[.firstFrame] == .seconds(1))
        #expect(keeper.written == 1)
    }

    @Test("launch tasks are recorded, with the end of the last one")
    func tasks() {
        let (keeper, _) = launch()
        kernel.say("BEGIN_LAUNCH_TASK=rows\n")
        say("BEGIN_LAUNCH_TASK=plots\nREADY=1\n", after: .seconds(1))
        #expect(keeper.record?.moments[.extended] == nil)
        #expect(keeper.record?.tasks.map(\.end) == [nil, nil])
        say("END_LAUNCH_TASK=rows\n", after: .seconds(1))
        say("END_LAUNCH_TASK=plots\n", after: .seconds(1))
        #expect(keeper.record?.moments[.extended] == .seconds(3))
        #expect(
            keeper.record?.tasks == [
                .init(name: "rows", begin: .zero, end: .seconds(2)),
                .init(name: "plots", begin: .seconds(1), end: .seconds(3)),
            ])
        #expect(keeper.completed == 1)
    }

    @Test("tasks that ended before the launch do not end it before ready")
    func earlyTasks() {
        let (keeper, _) = launch("HELLO=1\nBEGIN_LAUNCH_TASK=rows\nEND_LAUNCH_TASK=rows\n")
        say("READY=1\n", after: .seconds(1))
        #expect(keeper.record?.moments[.extended] == .seconds(1))
        #expect(keeper.record?.tasks == [.init(name: "rows", begin: .zero, end: .zero)])
    }

    @Test("a process that exits with an open task is recorded with the task, but without its end")
    func openTask() {
        let (keeper, _) = launch("HELLO=1\nBEGIN_LAUNCH_TASK=rows\nBEGIN_LAUNCH_TASK=plots\n")
        say("READY=1\n", after: .seconds(1))
        say("END_LAUNCH_TASK=rows\n", after: .seconds(1))
        exit(0)
        #expect(keeper.record?.moments[.extended] == nil)
        #expect(keeper.record?.tasks.map(\.end) == [.seconds(2), nil])
        #expect(keeper.written == 1)
        #expect(keeper.notes.end() == nil)
    }

    @Test("a launch that never became ready is recorded as far as it got")
    func neverReady() {
        let (keeper, _) = launch()
        say("FIRST_FRAME=1\n", after: .seconds(1))
        exit(1)
        #expect(keeper.record?.moments == [.exec: .zero, .hello: .zero, .firstFrame: .seconds(1)])
        #expect(keeper.record?.outcome == .ended && keeper.written == 1)
    }

    @Test(
        "marks after a later request do not belong to the launch",
        arguments: [LifecycleRequest.background, .suspend])
    func moved(request: LifecycleRequest) {
        let (keeper, supervisor) = launch()
        say("READY=1\n", after: .seconds(1))
        supervisor.request(request)
        kernel.run(for: .seconds(10))
        supervisor.request(.foreground)
        say("FIRST_FRAME=1\nUSEFUL=1\n", after: .seconds(1))
        #expect(keeper.record?.moments[.firstFrame] == nil && keeper.record?.moments[.useful] == nil)
    }

    @Test("marks during termination do not belong to the launch")
    func terminating() {
        let (keeper, supervisor) = launch()
        say("READY=1\n", after: .seconds(1))
        supervisor.requestTermination()
        kernel.say("USEFUL=1\n")
        #expect(keeper.record?.moments[.useful] == nil)
    }

    @Test("a launch of the previous watchdogd is completed too, but without tasks that are only partly known")
    func inherited() throws {
        var trace = LaunchTrace()
        let launchedAt = Instant(nanoseconds: 5_000_000_000)
        for text in ["BEGIN_LAUNCH_TASK=late\n", "END_LAUNCH_TASK=late\n"] {
            trace.note(ClientMessage(decoding: text.utf8), at: launchedAt + .seconds(3))
        }
        let requested = LaunchMoment(instant: launchedAt - .seconds(1), time: WallTime(seconds: 9))
        let subject = LaunchSubject(
            app: "App", host: "alpha", requested: requested, launchedAt: launchedAt, ready: .seconds(1), trace: trace)
        #expect(subject.completion([.extended: .seconds(3)]) == nil)
        #expect(subject.completion([:]) == nil)
        let completion = try #require(subject.completion([.useful: .seconds(4)]))
        #expect(completion.moments == [.useful: .seconds(4)] && completion.tasks == [])
        #expect(completion.time.seconds == 9 && completion.host == "alpha")
        #expect(subject.record(outcome: .ready, LaunchNotes()).tasks == [])
    }
}
