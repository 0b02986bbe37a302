// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

extension ControlText {
    /// The result of a reload: one line per kind of change, and the warnings.
    public static func reload(_ reply: ReloadReply, style: Style = Style()) -> String {
        var lines = reply.warnings.map { wrap($0.description.singleLine(), indent: 4, style) }.joined()
        for (deed, names) in [
            ("added", reply.added), ("changed", reply.changed), ("restarting", reply.restarted ?? []),
            ("removed", reply.removed),
        ] where !names.isEmpty {
            lines += wrap("\(deed): " + names.map { $0.singleLine() }.joined(separator: " "), indent: 4, style)
        }
        return lines + "unchanged: \(reply.unchanged)\n"
    }

    /// The changes of a reload: for each app, its settings before and after, and whether its process ends.
    public static func dryRun(_ reply: ReloadReply, style: Style = Style()) -> String {
        var text = reply.warnings.map { wrap($0.description.singleLine(), indent: 4, style) }.joined()
        for change in reply.changes ?? [] {
            let fate =
                reply.added.contains(change.name)
                ? "would be added"
                : reply.removed.contains(change.name)
                    ? "would be removed" + (change.endsProcess ? ", and its process terminated" : "")
                    : change.endsProcess ? "would change, and be restarted" : "would change without a restart"
            text += wrap("\(change.name.singleLine()): \(fate)", indent: 4, style)
            let paint = TextStyle(isColored: style.isColored)
            for line in change.removed { text += "  " + paint("- \(line.singleLine())", .failure) + "\n" }
            for line in change.added { text += "  " + paint("+ \(line.singleLine())", .success) + "\n" }
        }
        return text + "unchanged: \(reply.unchanged)\n"
    }

    /// The confirmation that an app has reloaded its own configuration; empty if the client did not wait.
    public static func reload(_ reply: ReloadAppReply, of app: String, style: Style = Style()) -> String {
        guard let duration = reply.duration?.duration else { return "" }
        return wrap("\(app.singleLine()) reloaded within \(duration.brief)", indent: 4, style)
    }
}
