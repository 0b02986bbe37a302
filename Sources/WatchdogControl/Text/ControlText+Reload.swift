// SPDX-License-Identifier: Apache-2.0

extension ControlText {
    /// The result of a reload: one line per kind of change, and the warnings.
    public static func reload(_ reply: ReloadReply) -> String {
        var lines = reply.warnings.map { wrap($0.description.shown, indent: 4) }.joined()
        for (deed, names) in [("added", reply.added), ("changed", reply.changed), ("removed", reply.removed)]
        where !names.isEmpty {
            lines += wrap("\(deed): " + names.map(\.shown).joined(separator: " "), indent: 4)
        }
        return lines + "unchanged: \(reply.unchanged)\n"
    }

    /// The confirmation that an app has reloaded its own configuration; empty if the client did not wait.
    public static func reload(_ reply: ReloadAppReply, of app: String) -> String {
        guard let duration = reply.duration?.duration else { return "" }
        return wrap("\(app.shown) reloaded within \(duration.measured)", indent: 4)
    }
}
