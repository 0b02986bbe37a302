// SPDX-License-Identifier: Apache-2.0

/// What `Reload` answers with when the new configuration is in force.
public struct ReloadReply: ControlReply, PiecewiseReply {
    /// Apps that were not there before.
    public var added: [String]
    /// Apps that are configured otherwise than before.
    public var changed: [String]
    /// Apps that are there no longer.
    public var removed: [String]
    /// How many apps are as they were, and were not touched.
    public var unchanged: Int
    /// What is doubtful in the files.
    public var warnings: [ControlDiagnostic]

    /// Creates an answer.
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
            .value("unchanged", unchanged), .list("warnings", warnings),
        ])
    }
}
