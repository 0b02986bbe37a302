// SPDX-License-Identifier: Apache-2.0

/// The operating system of a report.
public struct OSVersion: Codable, Equatable, Sendable {
    /// Name and version: `Debian GNU/Linux 12 (bookworm)`.
    public var train: String
    /// The build; in our reports the kernel's release.
    public var build: String
    /// `User`.
    public var releaseType: String?
    /// Whether it is a phone's or a watch's.
    public var isEmbedded: Bool?

    /// Creates the values.
    public init(train: String, build: String, releaseType: String? = "User", isEmbedded: Bool? = false) {
        self.train = train
        self.build = build
        self.releaseType = releaseType
        self.isEmbedded = isEmbedded
    }
}
