// SPDX-License-Identifier: Apache-2.0

/// What `List` answers with.
///
/// Each app is told as it is when its turn comes to be written: a long list is not a picture of one instant.
public struct ListReply: ControlReply {
    /// All apps, in the order of their names.
    public var apps: [AppSummary]
    /// The files that cannot be used.
    public var invalidFiles: [InvalidFile]

    /// Creates a list.
    public init(apps: [AppSummary], invalidFiles: [InvalidFile] = []) {
        self.apps = apps
        self.invalidFiles = invalidFiles
    }

    private enum CodingKeys: String, CodingKey {
        case apps
        case invalidFiles = "invalid"
    }
}
