// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase
import WatchdogControl
import WatchdogLinux

extension EndToEnd {
    /// The simulations' random events, applied to a daemon with real processes.
    @Suite("The daemon under random events")
    struct TurmoilTests {
        private static let names = (0..<8).map { "app\($0)" }

        /// The behavior of an app.
        private enum Kind: CaseIterable {
            case lives, ends, failsProbes, hangs, prepares, becomesReady, cannotStart, isWrong

            func text(_ name: String, _ succession: Succession) -> String {
                let sleep = "[App]\nExecStart=/bin/sleep 1000\nEnvironment=TURMOIL=\(name)\n"
                let restart = "[Restart]\nPolicy=always\nDelay=1ms\nMaxDelay=20ms\nReset=1ms\nLimit=infinity\n"
                let watchdog = "[Watchdog]\nReadiness=none\nTerminate=300ms\n"
                return switch self {
                case .lives: sleep + watchdog + restart
                case .ends: sleep.replacing("1000", with: "0.2") + watchdog + restart
                case .failsProbes:
                    sleep + watchdog + "Probe=exec:false\nProbeInterval=100ms\nProbeThreshold=1\n" + restart
                case .hangs:
                    succession.survivor(name, "Update=300ms\nTerminate=300ms\n" + restart)
                        .replacing("[Watchdog]", with: "Environment=TURMOIL=\(name)\n[Watchdog]")
                case .prepares: sleep + "ExecStartPre=/bin/sleep 0.2\n" + watchdog + restart
                case .becomesReady:
                    sleep + "[Watchdog]\nReadiness=exec:sleep 0.2\nLaunch=1s\nTerminate=300ms\n" + restart
                case .cannotStart: sleep.replacing("/bin/sleep", with: "/nowhere") + watchdog + restart
                case .isWrong: "[App]\nExecStrat=/bin/true\n"
                }
            }
        }

        private let succession: Succession
        private let dice = Dice()

        init() throws {
            succession = try Succession([:])
        }

        @Test("whatever happens in whatever order, it continues, runs no app twice, and leaves nothing behind")
        func anything() throws {
            var steps: [String] = []
            do {
                for _ in 0..<50 {
                    steps.append(try step())
                    try succession.pump()
                    guard !succession.program.hasEnded else { throw Failure("watchdogd has ended") }
                    _ = try succession.client.list()
                    for name in Self.names {
                        #expect(instances(of: name).count <= 1, "\(name) runs twice after \(steps.suffix(5))")
                    }
                    poll(nil, 0, dice.number(in: 0...60))
                }
                for name in Self.names { unlink(succession.scratch["apps/\(name).app"]) }
                _ = try succession.client.reload()
                try succession.end()
            } catch {
                throw Failure(
                    "\(error)\n\(dice.description), after \(steps.suffix(12))\n\(succession.said.suffix(4_000))\n"
                        + succession.program.text(.errors).suffix(4_000))
            }
            #expect(succession.stateFiles.isEmpty, "\(succession.stateFiles)")
        }

        /// Takes one step; returns its description.
        private func step() throws -> String {
            let name = dice.pick(Self.names)
            switch dice.number(in: 0...9) {
            case 0...2:
                try configure()
                return request("reload") { _ = try $0.reload() }
            case 3: return request("launch \(name)") { _ = try $0.launch(AppRequest(name, waits: false)) }
            case 4: return request("terminate \(name)") { _ = try $0.terminate(AppRequest(name, waits: false)) }
            case 5: return request("restart \(name)") { _ = try $0.restart(AppRequest(name, waits: false)) }
            case 6: return request("suspend \(name)") { _ = try $0.suspend(AppRequest(name, waits: false)) }
            case 7:
                let signal = dice.pick([SIGKILL, SIGSEGV, SIGTERM, SIGSTOP, SIGCONT])
                for pid in succession.processes where dice.oneIn(3) { kill(pid, signal) }
                return "signal \(signal) to some"
            case 8:
                try succession.reexecute()
                return "reexecute"
            default:
                try succession.killDaemon(dice.oneIn(2) ? SIGKILL : SIGUSR1)
                if dice.oneIn(2) { try configure() }
                for pid in succession.processes where dice.oneIn(4) { kill(pid, SIGKILL) }
                try succession.succeed()
                return "the next watchdogd"
            }
        }

        /// A request whose success depends on earlier steps.
        private func request(_ what: String, _ body: (ControlClient) throws -> Void) -> String {
            do {
                try body(succession.client)
                return what
            } catch {
                return "\(what) (\(error))"
            }
        }

        /// Adds some apps, changes some, and removes some.
        private func configure() throws {
            for name in Self.names where dice.oneIn(3) {
                let path = "apps/\(name).app"
                if dice.oneIn(3) {
                    unlink(succession.scratch[path])
                } else {
                    let kind = dice.pick(Kind.allCases)
                    try succession.scratch.write(kind.text(name, succession), to: path)
                }
            }
        }

        /// An app's launches with living processes.
        private func instances(of name: String) -> Set<String> {
            let found = Leftovers.processes(marked: "TURMOIL=\(name)").compactMap { pid in
                ProcessFacts.environment(pid)?["WATCHDOG_LAUNCH_ID"].map { (pid, $0) }
            }
            // Processes that exited during the search are not a second instance.
            return Set(found.filter { ProcessFacts.environment($0.0) != nil }.map(\.1))
        }
    }
}
