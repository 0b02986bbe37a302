// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase

/// Work that an app wants to continue in the background.
public struct BackgroundTask: Hashable, Sendable, Codable {
    /// The app's number for it.
    public let id: UInt64
    /// What it is, as named by the app.
    public let name: String
    /// When the app began it.
    public let begunAt: Instant

    private enum CodingKeys: String, CodingKey { case id, name, begunAt }

    /// Creates a task.
    public init(id: UInt64, name: String, begunAt: Instant) {
        self.id = id
        self.name = name
        self.begunAt = begunAt
    }
}
