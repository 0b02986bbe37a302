// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogPolicy
import WatchdogReportStore

@testable import WatchdogLaunch

@Suite("A launch with a failing system call", .serialized, .reapsChildren)
struct LaunchFailureTests {
    /// The result of a launch.
    private enum Fate: Equatable {
        case refused
        case failed
        case ran(without: [String])
    }

    private let bench: HostBench
    private var system: FailingSystem { bench.system }
    private var host: Host { bench.host }

    init() throws { bench = try HostBench("failures") }

    private var configuration: LaunchConfiguration {
        LaunchConfiguration(
            sharedSpec: Shared(wrappedValue: AppSpec.patient("fails-\(getpid())")),
            executable: "/bin/sleep", arguments: ["sleep", "60"], environment: .inherited, workingDirectory: nil,
            credentials: nil, probe: nil, livenessTarget: nil, store: ReportStore(directory: "/nowhere"))
    }

    /// Launches, stops everything that was launched, and releases all resources.
    private func launch() throws -> Fate {
        var outcome: Outcome?
        let shell: LaunchShell
        let supervisor: Supervisor
        do {
            shell = try LaunchShell(host, configuration, terminal: nil)
            supervisor = Supervisor(spec: shell.configuration.sharedSpec, shell: shell)
            supervisor.onFinish = { outcome = $0 }
            try shell.start(supervisor)
        } catch let error as LinuxError {
            #expect(!system.failures.isEmpty, "\(error) after \(system.calls)")
            return .refused
        }
        supervisor.launch()
        try bench.turn("it is known whether the launch succeeded") {
            outcome != nil || supervisor.machine.phase == .running
        }
        let fate = outcome?.cause == .spawnFailed ? Fate.failed : .ran(without: system.failures)
        #expect((supervisor.spawnFailure != nil) == (fate == .failed))
        #expect(fate != .failed || !system.failures.isEmpty, "\(String(describing: supervisor.spawnFailure))")
        if fate != .failed {
            supervisor.requestTermination()
            supervisor.requestTermination()
            try bench.turn("it is killed") { outcome != nil }
        }
        #expect(outcome?.isDeathVerified == true)
        shell.stop()
        return fate
    }

    @Test(
        "leaves nothing behind, whichever call fails, and is reported as failed",
        arguments: [ENOSPC, EMFILE, ENOMEM, EAGAIN], [false, true])
    func anyCall(errno: Int32, isLasting: Bool) throws {
        var failing = 0
        var fates: [String: Fate] = [:]
        while true {
            failing += 1
            system.script(failing: errno) { isLasting ? $0 >= failing : $0 == failing }
            let fate = try launch()
            try bench.expectNothingLeft("call \(failing) of \(system.calls)")
            // Without its own cgroup, an app is found through /proc instead.
            if case .ran(let missing) = fate { #expect([[], ["create the cgroup"]].contains(missing)) }
            guard let failure = system.failures.first else { break }
            fates[failure] = fate
        }
        #expect(failing >= 9)
        #expect(fates["spawn"] == .failed)
        #expect(fates["bind the notify socket"] == .refused)
    }

    private func commands(_ launch: LaunchConfiguration, onEvent: @escaping () -> Void) -> LaunchCommands {
        let evidence = LaunchEvidence(host, of: launch.tenant, cgroup: nil, update: launch.spec.allowances.update)
        return LaunchCommands(host, Shared(wrappedValue: launch), below: nil, evidence) { _ in onEvent() }
    }

    @Test("leaves no process of a command behind, whichever call fails", arguments: [EMFILE, ENOMEM])
    func anyCallOfACommand(errno: Int32) throws {
        var failing = 0
        while true {
            failing += 1
            system.script(failing: errno) { _ in false }
            var events = 0
            let launch = configuration
            do {
                let commands = commands(launch) { events += 1 }
                system.script(failing: errno) { $0 == failing }
                var end: Result<WatchdogBase.ExitStatus?, any Error>?
                commands.run(SpawnRequest(shell: "sleep 60 & sleep 60", asIn: launch), for: .milliseconds(20)) {
                    end = $0
                }
                try bench.turn("the command times out, or could not be started") { end != nil }
                let isDegraded = system.failures.first == "create the cgroup"
                switch end {
                case .success(let status):
                    #expect(status == nil)
                    #expect(system.failures.isEmpty || isDegraded)
                case .failure: #expect(!system.failures.isEmpty && !isDegraded)
                case nil: Issue.record("it did not end")
                }
                commands.stop()
            }
            try bench.expectNothingLeft("call \(failing) of \(system.calls)")
            #expect(system.strayGroupSignals == 0)
            if system.failures.isEmpty { break }
        }
        #expect(failing > 4)
    }

    @Test("signals a command's group before its leader is reaped, and never afterwards")
    func groupOfACommand() throws {
        let commands = commands(configuration) {}
        for text in ["exit 3", "sleep 60 & exit 3"] {
            system.script(failing: EMFILE) { $0 == 1 }
            var end: WatchdogBase.ExitStatus?
            commands.run(SpawnRequest(shell: text, asIn: configuration), for: patience) { end = try? $0.get() }
            try bench.turn("it ends") { end != nil }
            #expect(end == .exited(code: 3))
        }
        #expect(system.strayGroupSignals == 0)
        commands.stop()
        try bench.expectNothingLeft("commands that have ended")
    }

    @Test("a capture delays other exits until it ends, and a stuck one for at most its budget")
    func stuckCapture() throws {
        for budget in [patience, .milliseconds(20)] {
            system.script(failing: ENOMEM) { _ in false }
            let capture = host.captureBegan(within: budget)
            do {
                var launched: SpawnedProcess?
                let request = SpawnRequest(executable: "/bin/true", arguments: ["true"])
                let launch = try host.launch(request) { launched = try? $0.get() }
                try bench.turn("it ends") { launched?.process.hasExited == true }
                withExtendedLifetime(launch) {}
            }
            if budget > .seconds(1) {
                #expect(system.leftovers.count == 1)
                host.captureEnded(capture)
            }
            try bench.expectNothingLeft("a child that nobody owns")
        }
    }
}
