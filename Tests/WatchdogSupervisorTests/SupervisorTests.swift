// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogPolicy

@testable import WatchdogDaemon
@testable import WatchdogLaunch

@Suite("The supervisor on virtual time")
struct SupervisorTests {
    private let kernel = ScriptedEffects()

    private func launch(_ spec: AppSpec = AppSpec(name: "App")) -> Supervisor {
        let supervisor = kernel.supervise(spec)
        supervisor.launch()
        return supervisor
    }

    private func launchReady(_ spec: AppSpec = AppSpec(name: "App")) -> Supervisor {
        let supervisor = launch(spec)
        kernel.say("HELLO=1\n")
        kernel.say("READY=1\n")
        return supervisor
    }

    @Test("an app that answers its pings is never killed")
    func healthy() {
        kernel.answerPings()
        let supervisor = launchReady()
        kernel.run(for: .seconds(3_600))
        #expect(kernel.calls == [.spawn])
        #expect(supervisor.machine.phase == .running)
        #expect((3_590...3_610).contains(supervisor.machine.pings.count))
        #expect(supervisor.machine.hangs.count == 0)
    }

    @Test("an app that stops answering is captured at its deadline, killed, verified and reported, in this order")
    func hung() {
        _ = launchReady()
        kernel.run(for: .seconds(30))
        #expect(
            kernel.calls == [
                .spawn, .capture(.sceneUpdate, at: .seconds(10)), .killTree,
                .report(.sceneUpdate, isDeathVerified: true),
            ])
        guard case .watchdog(let incident) = kernel.outcome?.cause else {
            Issue.record("ended by \(String(describing: kernel.outcome))")
            return
        }
        #expect(incident.allowance == .seconds(10))
    }

    @Test("an answer just within the allowance spares the app, and is recorded as a hang")
    func slowAnswer() {
        kernel.answerPings(after: .milliseconds(9_999))
        let supervisor = launchReady()
        kernel.run(for: .seconds(60))
        #expect(kernel.calls == [.spawn])
        #expect(supervisor.machine.hangs.count >= 5)
        #expect(supervisor.machine.hangs.maximum == .milliseconds(9_999))
    }

    @Test("an answer at the instant of the deadline is read first")
    func signOfLifeWinsTheTie() {
        kernel.answerPings(after: .seconds(10))
        _ = launchReady()
        kernel.run(for: .seconds(60))
        #expect(kernel.calls == [.spawn])
    }

    @Test("the main loop is followed to the thread that answers, and back to the first one")
    func mainLoopThread() {
        var thread = "THREAD=117\n"
        kernel.onSend = { [kernel] text in
            guard text.hasPrefix("PING=") else { return }
            kernel.say("PONG=\(text.dropFirst(5).prefix { $0.isNumber })\n\(thread)")
        }
        _ = launchReady()
        #expect(kernel.mainLoopThread == 117)
        thread = ""
        kernel.run(for: .seconds(2))
        #expect(kernel.mainLoopThread == nil)
    }

    @Test("an answer just over the allowance is too late")
    func lateAnswer() {
        kernel.answerPings(after: .seconds(10) + .nanoseconds(1))
        _ = launchReady()
        kernel.run(for: .seconds(60))
        #expect(kernel.calls.contains(.capture(.sceneUpdate, at: .seconds(10))))
    }

    @Test("a launch without READY=1 is killed as scene-create once the app has sent hello")
    func slowLaunch() {
        _ = launch()
        kernel.after(.milliseconds(380)) { [kernel] in kernel.say("HELLO=1\n") }
        kernel.run(for: .seconds(30))
        #expect(kernel.calls.contains(.capture(.sceneCreate, at: .seconds(20))))
        guard case .watchdog(let incident) = kernel.outcome?.cause else {
            Issue.record("ended by \(String(describing: kernel.outcome))")
            return
        }
        #expect(incident.allowance == .milliseconds(19_620))
    }

    @Test("a program that never sends a message is assumed to be ready")
    func silent() {
        let supervisor = launch()
        kernel.run(for: .seconds(600))
        #expect(kernel.calls == [.spawn])
        #expect(kernel.notices.contains(.ready(.assumed, after: .seconds(20))))
        #expect(supervisor.machine.nextDeadline == nil)
    }

    @Test("a failed spawn ends the run")
    func spawnFails() {
        kernel.canSpawn = false
        let supervisor = launch()
        #expect(kernel.outcome?.cause == .spawnFailed)
        #expect(supervisor.spawnFailure is ScriptedEffects.SpawnFailure)
    }

    @Test("SIGTERM is sent before the message that could make the app remove its handler, and SIGCONT last")
    func terminate() {
        kernel.answerPings()
        let supervisor = launchReady()
        kernel.onSignal = { [kernel] signal in
            if signal == SIGTERM {
                kernel.after(.milliseconds(4_999)) { kernel.supervisor?.handle(.exited(.exited(code: 0))) }
            }
        }
        supervisor.signalReceived(SIGTERM)
        kernel.run(for: .seconds(30))
        #expect(
            kernel.calls == [.spawn, .signal(SIGTERM), .send("TERMINATE=1\n"), .signal(SIGCONT), .terminateTree])
        #expect(kernel.outcome?.cause == .terminated)
        #expect(kernel.outcome?.status == .exited(code: 0))
    }

    @Test("an app that ignores SIGTERM is killed for process-exit")
    func ignoresTerm() {
        kernel.answerPings()
        let supervisor = launchReady()
        supervisor.signalReceived(SIGTERM)
        kernel.run(for: .seconds(30))
        #expect(kernel.calls.contains(.capture(.processExit, at: .seconds(5))))
    }

    @Test("a second SIGTERM kills immediately and is not an incident")
    func secondTerm() {
        let supervisor = launchReady()
        supervisor.signalReceived(SIGTERM)
        kernel.run(for: .seconds(1))
        supervisor.signalReceived(SIGTERM)
        kernel.run(for: .seconds(1))
        #expect(kernel.outcome?.cause == .killedOnRequest)
        #expect(supervisor.machine.incidents.isEmpty)
    }

    @Test("other signals are forwarded", arguments: [SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH])
    func forwards(signal: Int32) {
        let supervisor = launchReady()
        supervisor.signalReceived(signal)
        #expect(kernel.calls == [.spawn, .signal(signal)])
    }

    @Test("a tree that survives SIGKILL is reported as unkillable and not awaited")
    func unkillable() {
        kernel.isKillable = false
        _ = launchReady()
        kernel.run(for: .seconds(60))
        #expect(kernel.calls.last == .report(.sceneUpdate, isDeathVerified: false))
        #expect(kernel.notices.contains(.unkillable))
        #expect(kernel.outcome?.isDeathVerified == false)
    }

    @Test("a suspension of the machine restarts the allowance")
    func suspension() {
        _ = launchReady()
        kernel.run(for: .milliseconds(9_500))
        kernel.suspendedTime = .seconds(3_600)
        kernel.run(for: .seconds(9))
        #expect(kernel.calls == [.spawn])
        #expect(kernel.notices.contains(.machineResumed(suspension: .seconds(3_600))))
        kernel.run(for: .seconds(2))
        #expect(kernel.calls.contains { if case .capture = $0 { true } else { false } })
    }

    @Test("in report mode the app keeps running, and is pinged again once it answers")
    func reportOnly() {
        var nonce = ""
        kernel.onSend = { text in nonce = String(text.dropFirst(5).prefix { $0.isNumber }) }
        let supervisor = launchReady(AppSpec(name: "App", enforcement: .report))
        kernel.run(for: .seconds(25))
        #expect(
            kernel.calls == [
                .spawn, .capture(.sceneUpdate, at: .seconds(10)), .report(.sceneUpdate, isDeathVerified: nil),
            ])
        kernel.say("PONG=\(nonce)\n")
        #expect(kernel.notices.contains(.hung(for: .seconds(25))))
        kernel.answerPings()
        kernel.run(for: .seconds(60))
        #expect(supervisor.machine.pings.count > 30)
        #expect(kernel.calls.count == 3)
    }

    @Test("the nonces of two apps differ")
    func nonces() {
        let firsts = (0..<2).map { _ in
            let kernel = ScriptedEffects()
            var first: String?
            kernel.onSend = { first = first ?? $0 }
            let supervisor = Supervisor(spec: Shared(wrappedValue: AppSpec(name: "App")), shell: kernel)
            supervisor.handle(.machine(.adopted(pid: 100)))
            return first
        }
        #expect(firsts[0]?.hasPrefix("PING=") == true)
        #expect(firsts[0] != firsts[1])
    }

    @Test("a readiness probe is repeated until it succeeds, one at a time")
    func probes() {
        var probes = 0
        kernel.onProbe = { [kernel] in
            probes += 1
            let isReady = probes == 4
            kernel.after(.milliseconds(5)) { kernel.supervisor?.handle(.machine(.probed(isReady: isReady))) }
        }
        _ = launch(AppSpec(name: "App", readiness: .listening))
        kernel.run(for: .seconds(60))
        #expect(probes == 4)
        #expect(kernel.notices.contains(.ready(.probe, after: .milliseconds(65))))
    }

    @Test("liveness probes start and end through the shell, and a late one is canceled")
    func livenessProbes() {
        var probes: [Int] = []
        kernel.onLivenessProbe = { [kernel] id in
            probes.append(id)
            guard id < 3 else { return }
            // The first probe ends before its start returns.
            if id == 1 { return kernel.supervisor?.handle(.machine(.livenessProbed(id: id, .answered))) ?? () }
            kernel.after(.milliseconds(5)) { kernel.supervisor?.handle(.machine(.livenessProbed(id: id, .answered))) }
        }
        var spec = AppSpec(name: "App", readiness: .none)
        spec.livenessProbe = LivenessProbe(of: "tcp:1", threshold: 2)
        let supervisor = launch(spec)
        kernel.run(for: .seconds(30))
        #expect(probes == [1, 2, 3, 4])
        #expect(supervisor.machine.probes.count == 2)
        #expect(kernel.livenessProbesCancelled == 2)
        #expect(kernel.calls.contains(.capture(.sceneUpdate, at: .seconds(12))))
    }
}
