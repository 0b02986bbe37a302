// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Translates values whose syntax differs between systemd and watchdogd.
enum SystemdValue {
    /// The value in the form of an app file.
    static func translated(_ setting: SystemdUnit.Setting, _ specifiers: SystemdSpecifiers) -> String {
        let value = specifiers.translated(setting.value)
        switch setting.key {
        // A number without a unit is in seconds for one key and in microseconds for the other: systemd.exec(5).
        case "LimitCPU": return limit(value, unit: "s")
        case "LimitRTTIME": return limit(value, unit: "us")
        default: return value
        }
    }

    private static func limit(_ value: String, unit: String) -> String {
        value.split(separator: ":", omittingEmptySubsequences: false).map { part in
            guard case .span(let span)? = ForeignTime.systemd(String(part), unit: unit) else { return String(part) }
            return TimeSpan.format(span)
        }.joined(separator: ":")
    }

    /// Whether a setting without a counterpart requests watchdogd's default behavior.
    static func isWatchdogdsOwn(_ setting: SystemdUnit.Setting) -> Bool {
        switch setting.key {
        case "KillSignal": ["SIGTERM", "TERM", "15"].contains(setting.value)
        case "KillMode": ["control-group", "mixed"].contains(setting.value)
        case "FinalKillSignal": ["SIGKILL", "KILL", "9"].contains(setting.value)
        case "SendSIGKILL", "GuessMainPID": setting.isOn
        case "StandardInput": setting.value == "null"
        case "NotifyAccess": setting.value != "none"
        case "IgnoreSIGPIPE", "RemainAfterExit", "SendSIGHUP", "CPUAccounting", "MemoryAccounting", "TasksAccounting",
            "IOAccounting":
            setting.isOff
        case "CapabilityBoundingSet", "DefaultDependencies": false
        // A disabled confinement, or a condition that only systemd can check. Only boolean words count, because the
        // number 0 is often a value.
        case let key where ["Syslog", "Condition", "Assert"].contains(where: key.hasPrefix): false
        default: setting.isOff && (setting.value != "0" || switches.contains(where: setting.key.hasPrefix))
        }
    }

    /// The prefixes of boolean keys.
    private static let switches = ["Private", "Protect", "Restrict", "Lock", "MemoryDeny", "RemoveIPC", "Dynamic"]
}

/// The delays of systemd's restarts: systemd.service(5).
struct RestartDelays {
    let first: SystemdUnit.Setting?
    let last: SystemdUnit.Setting?
    let steps: SystemdUnit.Setting?

    func put(into draft: inout AppDraft) {
        guard let first else {
            for setting in [last, steps].compactMap(\.self) {
                draft.note(.dropped, at: setting.place, "\(setting.shown) has no effect without RestartSec=")
            }
            return
        }
        guard case .span(let start)? = ForeignTime.systemd(first.value) else {
            return draft.note(.dropped, at: first.place, "\(first.shown) is not a time span, or is infinite")
        }
        guard draft.carry(.delay, TimeSpan.format(start), of: first.shown, at: first.place) else { return }
        if start > .zero {
            draft.note(.changed, at: first.place, "\(first.shown) became Delay=: the first restart does not wait")
        }
        if let last, let steps {
            guard case .span(let end)? = ForeignTime.systemd(last.value), let count = Int(steps.value),
                (1...1000).contains(count), start > .zero, end >= start
            else {
                return draft.note(
                    .dropped, at: last.place, "\(last.shown) and \(steps.shown) do not form a series of delays")
            }
            draft.carry(.maxDelay, TimeSpan.format(end), of: last.shown, at: last.place)
            draft.carry(.factor, Self.factor(from: start, to: end, in: count), of: steps.shown, at: steps.place)
        } else {
            // Without steps, the delay is constant.
            draft.set(.factor, "1")
            if start > .seconds(60) { draft.set(.maxDelay, TimeSpan.format(start)) }
        }
    }

    /// The factor that raises one delay to the other in this many steps, rounded to a thousandth.
    private static func factor(from start: Duration, to end: Duration, in steps: Int) -> String {
        let ratio = Double(end.nanoseconds) / Double(start.nanoseconds)
        var (low, high) = (1.0, 100.0)
        for _ in 0..<40 {
            let middle = (low + high) / 2
            var power = 1.0
            for _ in 0..<steps where power <= ratio { power *= middle }
            if power > ratio { high = middle } else { low = middle }
        }
        let thousandths = Int((low * 1000).rounded())
        let rest = String(thousandths % 1000 + 1000).dropFirst()
        return "\(thousandths / 1000).\(rest)"
    }
}

extension String {
    /// The name of a signal without `SIG`.
    var dropSIG: Substring { hasPrefix("SIG") ? dropFirst(3) : self[...] }
}
