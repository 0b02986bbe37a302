// SPDX-License-Identifier: Apache-2.0

/// The reply to `Reload` once the new configuration is in force, or to a dry run.
public struct ReloadReply: ControlReply, PiecewiseReply {
    /// New apps.
    public var added: [String]
    /// Apps with a changed configuration.
    public var changed: [String]
    /// Apps whose configuration was removed.
    public var removed: [String]
    /// Those of the changed apps whose process is restarted; nil if a watchdogd before this key answers.
    public var restarted: [String]?
    /// The number of unchanged apps, which keep running.
    public var unchanged: Int
    /// Warnings about the files.
    public var warnings: [ControlDiagnostic]
    /// For a dry run, each app that would change; nil after a reload.
    public var changes: [AppChange]?

    /// Creates a reply.
    public init(
        added: [String] = [], changed: [String] = [], removed: [String] = [], unchanged: Int = 0,
        warnings: [ControlDiagnostic] = []
    ) {
        self.added = added
        self.changed = changed
        self.removed = removed
        self.unchanged = unchanged
        self.warnings = warnings
    }

    var body: ReplyBody {
        .members([
            .value("added", added), .value("changed", changed), .value("removed", removed),
            restarted.map { .value("restarted", $0) },
            .value("unchanged", unchanged), .list("warnings", warnings), changes.map { .list("changes", $0) },
        ])
    }
}
