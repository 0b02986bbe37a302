// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

extension AppReader {
    /// Checks across settings.
    mutating func checkWhole() {
        checkCommand()
        checkReadiness()
        buildProbe()
        buildHook()
        checkExtensions()
        checkLifecycle()
        checkRestart()
        checkObserved()
    }

    mutating func report(
        _ severity: ConfigurationDiagnostic.Severity, _ key: ConfigurationKey, _ message: String
    ) {
        guard let setting = settings[key]?.last else { return }
        diagnostics.report(
            severity, at: setting.position, length: setting.key.count, "\(key.rawValue): \(message)")
    }

    private mutating func checkCommand() {
        guard command == nil, draft.observed == nil, suspects.isDisjoint(with: [.execStart, .observe]) else { return }
        let message = "ExecStart= is missing in [App]: the program to run"
        if let header = headers[.app] {
            diagnostics.report(.error, at: header, length: 3, message)
        } else {
            diagnostics.report(.error, file: 0, message)
        }
    }

    private mutating func checkReadiness() {
        if draft.watchdog.readiness == .probe, probe.target == nil, !suspects.contains(.probe) {
            report(.error, .readiness, "probe needs a Probe= in [Watchdog]")
        }
        if draft.watchdog.readiness == .none {
            report(.warning, .launch, "no effect, because Readiness=none makes the launch end at once")
        }
    }

    private mutating func buildProbe() {
        guard let target = probe.target else {
            guard !suspects.contains(.probe) else { return }
            for key in [.probeInterval, .probeTimeout, .probeThreshold, .probeStatus, .probeBody] as [ConfigurationKey]
            {
                report(.warning, key, "no effect, because there is no Probe=")
            }
            return
        }
        var settings = ProbeSettings(target)
        if case .http(var request) = target {
            request.statuses = probe.statuses ?? request.statuses
            request.body = probe.body
            settings.target = .http(request)
        } else {
            for key in [.probeStatus, .probeBody] as [ConfigurationKey] {
                report(.error, key, "applies only to Probe=http://…")
            }
        }
        settings.interval = probe.interval ?? settings.interval
        settings.timeout = probe.timeout ?? settings.timeout
        settings.threshold = probe.threshold ?? settings.threshold
        draft.watchdog.probe = settings
    }

    private mutating func checkExtensions() {
        guard draft.watchdog.extensionCap == .zero, draft.watchdog.allowsBlindExtension else { return }
        report(.warning, .allowBlindExtension, "no effect, because ExtensionCap= allows none")
    }

    private mutating func checkRestart() {
        let restart = draft.restart
        if restart.policy == .never {
            for key in ConfigurationKey.allCases where key.section == .restart && key != .policy {
                report(.warning, key, "no effect, because of Policy=never")
            }
            return
        }
        if restart.maximumDelay < restart.delay {
            let maximum = TimeSpan.text(restart.maximumDelay)
            let key: ConfigurationKey = settings[.maxDelay] == nil ? .delay : .maxDelay
            report(
                .error, key,
                key == .delay
                    ? "longer than MaxDelay=, which is \(maximum)"
                    : "shorter than Delay=, which is \(TimeSpan.text(restart.delay))")
        }
        if restart.policy == .onWatchdog, draft.watchdog.enforcement == .report {
            report(.warning, .policy, "nothing is ever restarted, because Enforce=report kills nothing")
        }
        if restart.limit == .infinity, !restart.causeLimits.values.contains(where: { $0 != .infinity }) {
            for key in [.limitInterval, .atLimit] as [ConfigurationKey] {
                report(.warning, key, "no effect, because there is no limit")
            }
        }
    }
}
