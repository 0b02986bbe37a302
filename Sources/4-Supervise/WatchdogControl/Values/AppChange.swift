// SPDX-License-Identifier: Apache-2.0

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
