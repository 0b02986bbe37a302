// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogConfiguration

@Suite("Settings that contradict each other")
struct ContradictionTests {
    private let start = "[App]\nExecStart=/bin/web\n"

    @Test(
        "are reported",
        arguments: [
            ("[Watchdog]\nReadiness=probe", ["4:1: error: Readiness: probe needs a Probe= in [Watchdog]"]),
            ("[Watchdog]\nProbe=tcp:80\nReadiness=probe", []),
            (
                "[Watchdog]\nProbeTimeout=1s\nProbeBody=x",
                [
                    "4:1: warning: ProbeTimeout: no effect, because there is no Probe=",
                    "5:1: warning: ProbeBody: no effect, because there is no Probe=",
                ]
            ),
            (
                "[Watchdog]\nOnIncidentTimeout=1min\nOnIncidentFor=all",
                [
                    "4:1: warning: OnIncidentTimeout: no effect, because there is no OnIncident=",
                    "5:1: warning: OnIncidentFor: no effect, because there is no OnIncident=",
                ]
            ),
            ("[Watchdog]\nOnIncident=x\nOnIncidentTimeout=1h", []),
            (
                "[Watchdog]\nOnIncident=x\nOnIncidentTimeout=3601s",
                ["5:19: error: OnIncidentTimeout: longer than 1 h, the longest limit of a command"]
            ),
            (
                "[Watchdog]\nOnIncident=x\nOnIncidentFor=all\nHangReports=off",
                [
                    "5:1: warning: OnIncidentFor: no effect on hangs, because of HangReports=off"
                ]
            ),
            (
                "[Watchdog]\nProbe=tcp:80\nProbeBody=x",
                ["5:1: error: ProbeBody: applies only to Probe=http://…"]
            ),
            (
                "[Watchdog]\nProbeStatus=200\nProbe=exec:x",
                ["4:1: error: ProbeStatus: applies only to Probe=http://…"]
            ),
            (
                "[Watchdog]\nLaunch=5s\nReadiness=none",
                ["4:1: warning: Launch: no effect, because Readiness=none makes the launch end at once"]
            ),
            (
                "[Watchdog]\nExtensionCap=0s\nAllowBlindExtension=yes",
                ["5:1: warning: AllowBlindExtension: no effect, because ExtensionCap= allows none"]
            ),
            ("[Restart]\nDelay=10s\nMaxDelay=5s", ["5:1: error: MaxDelay: shorter than Delay=, which is 10 s"]),
            ("[Restart]\nDelay=2min", ["4:1: error: Delay: longer than MaxDelay=, which is 1 min"]),
            (
                "[Restart]\nPolicy=never\nDelay=5s\nLimitHang=3",
                [
                    "5:1: warning: Delay: no effect, because of Policy=never",
                    "6:1: warning: LimitHang: no effect, because of Policy=never",
                ]
            ),
            (
                "[Watchdog]\nEnforce=report\n[Restart]\nPolicy=on-watchdog",
                ["6:1: warning: Policy: nothing is ever restarted, because Enforce=report kills nothing"]
            ),
            (
                "[Restart]\nLimit=infinity\nAtLimit=stop",
                ["5:1: warning: AtLimit: no effect, because there is no limit"]
            ),
            ("[Restart]\nLimit=infinity\nLimitHang=3\nAtLimit=stop", []),
        ])
    func told(lines: String, diagnostics: [String]) throws {
        let app = try app(start + lines + "\n")
        #expect(app.lines == diagnostics)
        #expect((app.configuration != nil) == app.diagnostics.allSatisfy { $0.severity == .warning })
    }

    @Test("A wrong value is reported once, not again for its consequences")
    func noFollowingErrors() throws {
        #expect(try app(start + "[Watchdog]\nReadiness=probe\nProbe=x\nProbeTimeout=1s\n").diagnostics.count == 1)
        #expect(try app("[App]\nExecStrat=/bin/web\n").diagnostics.count == 1)
        #expect(try app("[App]\nExecStart=./web\n").diagnostics.count == 1)
    }

    @Test("Problems that only the machine can show have the setting's place")
    func laterDiagnostics() throws {
        let app = try app(start + "CPUQuota=50%\n")
        #expect(
            app.diagnostic(.warning, about: .cpuQuota, "needs the cgroup controller cpu").description
                == "web.app:3:1: warning: CPUQuota: needs the cgroup controller cpu")
        #expect(
            app.diagnostic(.error, about: .user, "does not exist").description == "web.app: error: User: does not exist"
        )
    }
}
