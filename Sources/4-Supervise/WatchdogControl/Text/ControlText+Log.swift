// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ControlText {
    /// Uncut output lines of an app, each with its time if known.
    public static func log(_ lines: [LogLine], style: Style = Style()) -> String {
        lines.map { line in
            let stamp = line.time.map { style.time.date($0) + " " } ?? ""
            return stamp + line.text.replacing("\t", with: "    ").singleLine() + "\n"
        }.joined()
    }
}
