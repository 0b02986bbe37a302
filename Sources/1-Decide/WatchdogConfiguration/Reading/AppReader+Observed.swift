// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension AppReader {
    mutating func setObserved(_ text: SourceText) throws(ValueError) {
        guard !text.isEmpty else {
            draft.observed = nil
            return
        }
        let word = try text.expanded(by: expansion)
        let target: ObservedTarget
        do {
            target = try ObservedTarget(parsing: word)
        } catch {
            throw ValueError(message: error.description, length: text.count)
        }
        if case .process = target {
            throw ValueError(
                message: "a process ID changes with each start; name a service or a container", length: text.count)
        }
        draft.observed = ObservedSettings(target: target)
    }

    mutating func setEnforcement(_ text: SourceText) throws(ValueError) {
        restartsUnit = false
        let choices = AppSpec.Enforcement.allCases.map { ($0.rawValue, AppSpec.Enforcement?.some($0)) }
        guard !text.isEmpty, let choice = try ValueReader.choice(text, choices + [("restart-unit", nil)]) else {
            restartsUnit = !text.isEmpty
            return try set(\.watchdog.enforcement, text, .report)
        }
        draft.watchdog.enforcement = choice
    }

    /// Checks what applies only to what is observed, and what does not apply to it.
    mutating func checkObserved() {
        guard draft.observed != nil else {
            if restartsUnit { report(.error, .enforce, "restart-unit needs an Observe= in [App]") }
            return
        }
        if command != nil { report(.error, .observe, "cannot be combined with ExecStart=") }
        if settings[.enforce] != nil, draft.watchdog.enforcement == .kill {
            report(.error, .enforce, "watchdogd does not kill what it observes; use report or restart-unit")
        }
        if restartsUnit, case .container = draft.observed?.target {
            report(.error, .enforce, "restart-unit applies only to a service")
        }
        for key in ConfigurationKey.allCases where !key.appliesToObserved && key != .execStart {
            report(.warning, key, "no effect, because of Observe=")
        }
        draft.watchdog.enforcement = .report
        draft.watchdog.crashReports = nil
        // Nothing of ours runs inside of it.
        draft.program.reloadCommands = []
        draft.program.preparations = []
        // The process is followed over all restarts by its owner.
        draft.restart = RestartSettings()
        draft.restart.policy = .always
        draft.restart.delay = .zero
        draft.restart.limit = .infinity
        draft.observed?.restartsUnit = restartsUnit
    }
}

extension ConfigurationKey {
    /// Whether the key has a meaning for a program that watchdogd does not start.
    fileprivate var appliesToObserved: Bool {
        switch self {
        case .observe, .description, .version, .enabled, .probe, .probeInterval, .probeTimeout, .probeThreshold,
            .probeStatus, .probeBody, .enforce, .hangReports, .onIncident, .onIncidentTimeout, .onIncidentFor,
            .reportsInJournal,
            .keepReports, .keepStacks, .timeScale:
            true
        default: false
        }
    }
}
