// SPDX-License-Identifier: Apache-2.0

// The outlines that callers without the right to inspect get. Each outline is built from an explicit list of fields, so
// that a new field is withheld until it is added here.

extension AppSummary {
    /// The app's name and state, whether it answers, and the number of its restarts.
    var outline: AppSummary {
        AppSummary(
            name: name, state: state, isAnswering: isAnswering, silence: silence, since: since, restarts: restarts)
    }
}

extension InvalidFile {
    /// The name of the app that is missing.
    var outline: InvalidFile { InvalidFile(name: name, file: "", diagnostics: []) }
}

extension ControlEvent {
    /// The kind of the event, and its app; the message is the kind in words.
    var outline: ControlEvent { ControlEvent(kind, app: app, message: kind.words, time: time, sequence: sequence) }
}

extension ControlEvent.Kind {
    /// `limitReached` as "limit reached".
    fileprivate var words: String {
        String(rawValue.flatMap { $0.isUppercase ? " \($0.lowercased())" : String($0) })
    }
}
