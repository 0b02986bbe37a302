// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension AppReader {
    mutating func setReadiness(_ text: SourceText) throws(ValueError) {
        let expansion = expansion
        try set(\.watchdog.readiness, text, try Self.readiness(text, expansion))
    }

    private static func readiness(
        _ text: SourceText, _ expansion: SpecifierExpansion
    ) throws(ValueError) -> ReadinessSetting {
        let word = try text.expanded(by: expansion)
        if let address = word.afterPrefix("listen:") {
            return .listening(try whole(text, try AddressReader.address(address, bareHost: .any)))
        }
        if let command = word.afterPrefix("exec:") {
            return .command(try whole(text, try ProbeReader.shellCommand(command)))
        }
        let words: [(word: String, value: ReadinessSetting?)] = [
            ("auto", .automatic), ("channel", .channel), ("notify", .notify), ("probe", .probe),
            ("none", ReadinessSetting.none),
            ("listen:ADDR", nil), ("exec:CMD", nil),
        ]
        let synonyms = [
            "simple": "auto", "idle": "auto", "automatic": "auto", "exec": "none", "notify-reload": "notify",
        ]
        guard let choice = try ValueReader.choice(text, words, synonyms: synonyms) else {
            throw ValueError(message: "\(word) is a pattern; write for example listen:8080", length: text.count)
        }
        return choice
    }

    mutating func setProbe(_ text: SourceText) throws(ValueError) {
        guard !text.isEmpty else {
            probe.target = nil
            return
        }
        let word = try text.expanded(by: expansion)
        probe.target = try Self.whole(text, try ProbeReader.target(word))
    }

    static func hook(_ text: SourceText, _ expansion: SpecifierExpansion) throws(ValueError) -> IncidentHook {
        let command = try text.expanded(by: expansion)
        return IncidentHook(try whole(text, try ProbeReader.shellCommand(command)))
    }

    static func hookTimeout(_ text: SourceText) throws(ValueError) -> Duration {
        let span = try allowance(text)
        guard span <= IncidentHook.longestTimeout else {
            throw ValueError(
                message: "longer than \(TimeSpan.text(IncidentHook.longestTimeout)), the longest limit of a command",
                length: text.count)
        }
        return span
    }

    mutating func buildHook() {
        guard draft.watchdog.incidentHook != nil else {
            guard !suspects.contains(.onIncident) else { return }
            for key in [.onIncidentTimeout, .onIncidentFor] as [ConfigurationKey] {
                report(.warning, key, "no effect, because there is no OnIncident=")
            }
            return
        }
        if let timeout = hook.timeout { draft.watchdog.incidentHook?.timeout = timeout }
        draft.watchdog.incidentHook?.includesHangs = hook.occasion == .all
        if hook.occasion == .all, draft.watchdog.hangReports == nil {
            report(.warning, .onIncidentFor, "no effect on hangs, because of HangReports=off")
        }
    }

    static func statuses(_ text: SourceText) throws(ValueError) -> [ClosedRange<Int>] {
        let words = try ValueReader.short(text)
        return try whole(text, try ProbeReader.statuses(words))
    }

    /// Moves an error to the whole value, because specifiers have changed the text.
    private static func whole<Value>(
        _ text: SourceText, _ read: @autoclosure () throws(ValueError) -> Value
    ) throws(ValueError) -> Value {
        do throws(ValueError) {
            return try read()
        } catch {
            var whole = error
            whole.offset = 0
            whole.length = text.count
            throw whole
        }
    }

    static func body(_ text: SourceText) throws(ValueError) -> String {
        guard text.count <= 1024 else { throw ValueError(message: "the text is longer than 1 KiB", length: text.count) }
        return text.string
    }
}
