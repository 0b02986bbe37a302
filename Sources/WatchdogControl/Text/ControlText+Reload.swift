// SPDX-License-Identifier: Apache-2.0

extension ControlText {
    /// What a reload has changed: one line for each kind of change, and the warnings.
    public static func reload(_ reply: ReloadReply) -> String {
        var lines = reply.warnings.map { wrap($0.description.shown, indent: 4) }.joined()
        for (deed, names) in [("added", reply.added), ("changed", reply.changed), ("removed", reply.removed)]
        where !names.isEmpty {
            lines += wrap("\(deed): " + names.map(\.shown).joined(separator: " "), indent: 4)
        }
        return lines + "unchanged: \(reply.unchanged)\n"
    }

    /// That an app has read its own configuration again; nothing where that was not waited for.
    public static func reload(_ reply: ReloadAppReply, of app: String) -> String {
        guard let duration = reply.duration?.duration else { return "" }
        return wrap("\(app.shown) reloaded within \(duration.measured)", indent: 4)
    }
}
