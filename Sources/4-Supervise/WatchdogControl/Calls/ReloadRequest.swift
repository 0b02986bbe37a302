// SPDX-License-Identifier: Apache-2.0

/// The parameters of `Reload`.
public struct ReloadRequest: ControlRequest {
    /// Whether to return the changes of a reload without reloading.
    public var isDryRun: Bool?

    /// Creates the parameters.
    public init(isDryRun: Bool? = nil) {
        self.isDryRun = isDryRun
    }

    /// The names of the parameters.
    public static let parameterNames = CodingKeys.names

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case isDryRun = "dryRun"
    }
}

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

/// The reply to `ReloadApp`.
public struct ReloadAppReply: ControlReply {
    /// The time from the request until the reload was complete; nil if the client did not wait for that.
    public var duration: Microseconds?
    /// Whether the app itself confirmed the reload.
    public var isConfirmed: Bool

    /// Creates a reply.
    public init(duration: Duration? = nil, isConfirmed: Bool = false) {
        self.duration = duration.map { Microseconds($0) }
        self.isConfirmed = isConfirmed
    }

    private enum CodingKeys: String, CodingKey {
        case duration = "durationUSec"
        case isConfirmed
    }
}

/// The changes of a reload to one app.
public struct AppChange: Hashable, Sendable, Codable {
    /// The app's name.
    public var name: String
    /// Whether its process would be restarted, or terminated if the app was removed.
    public var endsProcess: Bool
    /// The settings that would no longer apply, as `Key=value`.
    public var removed: [String]
    /// The settings that would newly apply, as `Key=value`.
    public var added: [String]

    /// Creates a change; unchanged settings are omitted.
    public init(name: String, endsProcess: Bool, from old: [String], to new: [String]) {
        self.name = name
        self.endsProcess = endsProcess
        removed = old.filter { !new.contains($0) }
        added = new.filter { !old.contains($0) }
    }
}
