// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
package import WatchdogPolicy
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

/// The facts about an incident that a hook receives in its environment.
package struct HookFacts {
    package let app: String
    private let event: String
    private let code: String
    private let report: ReportOutcome
    /// Whether the incident is a hang that ended by itself.
    private(set) var isHang = false

    package init(app: String, event: String, code: String, _ report: ReportOutcome) {
        self.app = app
        self.event = event
        self.code = code
        self.report = report
    }

    /// An exhausted allowance.
    package init(_ incident: Incident, _ report: ReportOutcome, of app: String) {
        self.init(app: app, event: incident.event.rawValue, code: incident.code.hexadecimal, report)
    }

    /// A hang that ended by itself.
    package init(_ hang: Hang, _ report: ReportOutcome, of app: String) {
        self.init(app: app, event: ReportKind.hang.rawValue, code: "", report)
        isHang = true
    }

    /// The key of the rate limit: hangs that end by themselves have their own, so that they cannot use up the hooks for
    /// kills.
    var limitKey: String { isHang ? "\(app) hang" : app }

    /// An unexpected end; nil if it calls for no hook.
    package init?(_ crash: Crash, _ report: ReportOutcome, of app: String) {
        guard !report.isVoid else { return nil }
        let code =
            switch crash.status {
            case .exited(let code): "\(code)"
            case .signaled(let signal, _): SignalName.of(Int(signal))
            case .unknown: ""
            }
        self.init(app: app, event: ReportKind.crash.rawValue, code: code, report)
    }

    /// The variables; unknown values are empty, so that values of an outer watchdogd are not inherited.
    var variables: [(name: String, value: String)] {
        [
            ("WATCHDOGD_APP", app), ("WATCHDOGD_EVENT", event), ("WATCHDOGD_CODE", code),
            ("WATCHDOGD_VERDICT", report.line),
            ("WATCHDOGD_FAULT", report.fault?.rawValue.replacing(" ", with: "-") ?? ""),
            ("WATCHDOGD_INCIDENT", report.incident.map { "\($0)" } ?? ""),
            ("WATCHDOGD_SIGNATURE", report.signature ?? ""), ("WATCHDOGD_REPORT", report.path ?? ""),
        ].map { ($0.0, $0.1.singleLine(limit: 4_096)) }
    }
}
