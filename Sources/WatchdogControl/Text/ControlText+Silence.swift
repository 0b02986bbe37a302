// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension SilenceSummary {
    /// What is said of the app instead of its state: "not answering", "stopped by a signal".
    var word: String {
        switch reason {
        case .stopped: "stopped by a signal"
        case .frozen: "frozen"
        case .traced: "traced"
        case .dumpingCore: "dumping core"
        default: "not answering"
        }
    }

    /// The word where there is little room: at most 13 characters.
    private var shortWord: String { reason == .stopped ? "stopped (sig)" : word }

    /// "not answering for 4s (2 of 3 probes failed)", "stopped by a signal (5s)".
    func text(at now: Timestamp) -> String {
        let time = (now - since).rough
        let detail: String
        switch reason {
        case .stopped, .frozen, .traced, .dumpingCore: return "\(word) (\(time))"
        case .probes:
            let (failed, needed) = (failedProbes ?? 0, neededProbes ?? 0)
            // From then on, how many it takes says nothing any more.
            detail = failed < needed ? "\(failed) of \(needed) probes failed" : Self.count(failed) + " failed"
        case .ping: detail = "no answer to a ping"
        case .push: detail = "no WATCHDOG=1"
        default: detail = reason.rawValue.singleLine()
        }
        return "\(word) for \(time) (\(detail))"
    }

    /// "not answering 4s", "stopped (sig) 5s".
    func shortText(at now: Timestamp) -> String { "\(shortWord) \((now - since).coarse)" }

    private static func count(_ probes: Int) -> String { probes == 1 ? "1 probe" : "\(probes) probes" }

    /// Whether it may still turn out to be nothing.
    fileprivate var isMild: Bool { isInTime == true || reason == .dumpingCore }
}

extension AppSummary {
    /// What a list counts it as: its state, unless it is kept from answering.
    var standing: AppState { silence.map { AppState(rawValue: $0.word) } ?? state }

    /// What the color of its state says; nil for a state that needs none.
    var meaning: TextStyle.Meaning? {
        silence.map { $0.isMild ? .caution : .failure } ?? ControlText.meaning(of: state)
    }
}
