// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension SilenceSummary {
    /// The word shown instead of the app's state: "not answering", "stopped by a signal".
    var word: String {
        switch reason {
        case .stopped: "stopped by a signal"
        case .frozen: "frozen"
        case .traced: "traced"
        case .dumpingCore: "dumping core"
        default: "not answering"
        }
    }

    /// The word for narrow columns: at most 13 characters.
    private var shortWord: String { reason == .stopped ? "stopped (sig)" : word }

    /// "not answering for 4s (2 of 3 probes failed)", "stopped by a signal (5s)".
    func text(at now: Timestamp) -> String {
        let time = (now - since).rough
        let detail: String
        switch reason {
        case .stopped, .frozen, .traced, .dumpingCore: return "\(word) (\(time))"
        case .probes:
            let (failed, needed) = (failedProbes ?? 0, neededProbes ?? 0)
            // Beyond the limit, the number of needed failures is not interesting.
            detail = failed < needed ? "\(failed) of \(needed) probes failed" : failed.counted("probe") + " failed"
        case .ping: detail = "no answer to a ping"
        case .push: detail = "no WATCHDOG=1"
        default: detail = reason.rawValue.singleLine()
        }
        return "\(word) for \(time) (\(detail))"
    }

    /// "not answering 4s", "stopped (sig) 5s".
    func shortText(at now: Timestamp) -> String { "\(shortWord) \((now - since).coarse)" }

    /// Whether the silence may still be harmless.
    fileprivate var isMild: Bool { isInTime == true || reason == .dumpingCore }
}

extension AppSummary {
    /// The state for counts in lists: its own, unless it does not answer.
    var standing: AppState { silence.map { AppState(rawValue: $0.word) } ?? state }

    /// The meaning for the color of its state; nil for a state without a color.
    var meaning: TextStyle.Meaning? {
        silence.map { $0.isMild ? .caution : .failure } ?? ControlText.meaning(of: state)
    }
}

extension ControlText {
    /// Whether an app is ready and answers, in one line without its newline.
    public static func ping(_ app: AppSummary, style: Style = Style()) -> String {
        let name = app.name.singleLine()
        return switch (app.state, app.isAnswering) {
        case (_, true?) where app.isWatched == false: "\(name) is ready; nothing watches whether it answers"
        case (_, true?): "\(name) is ready and answers"
        case (_, false?): "\(name) is ready, but " + (app.silence?.text(at: style.time.now) ?? "does not answer")
        case (.running, nil): "\(name) is ready; this watchdogd does not say whether it answers"
        case (.launching, nil): "\(name) is not ready yet: launching"
        case (let state, nil): "\(name) is not ready: \(state.rawValue.singleLine())"
        }
    }
}
