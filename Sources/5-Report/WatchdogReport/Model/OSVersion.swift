// SPDX-License-Identifier: Apache-2.0

/// The operating system of a report.
public struct OSVersion: Codable, Equatable, Sendable {
    /// The name and version: `Debian GNU/Linux 12 (bookworm)`.
    public var train: String
    /// The build; in our reports the kernel release.
    public var build: String
    /// The type of the release; `User` in our reports.
    public var releaseType: String?
    /// Whether the system is that of a phone or a watch.
    public var isEmbedded: Bool?

    /// Creates the values.
    public init(train: String, build: String, releaseType: String? = "User", isEmbedded: Bool? = false) {
        self.train = train
        self.build = build
        self.releaseType = releaseType
        self.isEmbedded = isEmbedded
    }
}
