// SPDX-License-Identifier: Apache-2.0

/// The reply to `List`.
///
/// Each app is read when its entry is written, so a long list is not a snapshot of one instant.
public struct ListReply: ControlReply {
    /// All apps, sorted by name.
    public var apps: [AppSummary]
    /// The invalid files.
    public var invalidFiles: [InvalidFile]
    /// True if the client may see only the names and states of apps; otherwise nil.
    public var isWithheld: Bool?

    /// Creates a list.
    public init(apps: [AppSummary], invalidFiles: [InvalidFile] = [], isWithheld: Bool? = nil) {
        self.apps = apps
        self.invalidFiles = invalidFiles
        self.isWithheld = isWithheld
    }

    private enum CodingKeys: String, CodingKey {
        case apps
        case invalidFiles = "invalid"
        case isWithheld
    }
}
