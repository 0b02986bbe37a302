// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ControlText {
    /// Whether an app is ready and answers, in one line without its newline.
    public static func ping(_ app: AppSummary, style: Style = Style()) -> String {
        let name = app.name.singleLine()
        return switch (app.state, app.isAnswering) {
        case (_, true?): "\(name) is ready and answers"
        case (_, false?): "\(name) is ready, but " + (app.silence?.text(at: style.time.now) ?? "does not answer")
        case (.running, nil): "\(name) is ready; this watchdogd does not say whether it answers"
        case (.launching, nil): "\(name) is not ready yet: launching"
        case (let state, nil): "\(name) is not ready: \(state.rawValue.singleLine())"
        }
    }
}
