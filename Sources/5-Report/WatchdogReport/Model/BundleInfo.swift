// SPDX-License-Identifier: Apache-2.0

/// The name and version of an app.
public struct BundleInfo: Codable, Equatable, Sendable {
    /// The bundle identifier; in our reports the app's name.
    public var identifier: String?
    /// The version shown to people.
    public var shortVersion: String?
    /// The build number.
    public var version: String?

    /// Creates the values.
    public init(identifier: String?, shortVersion: String? = nil, version: String? = nil) {
        self.identifier = identifier
        self.shortVersion = shortVersion
        self.version = version
    }

    enum CodingKeys: String, CodingKey {
        case identifier = "CFBundleIdentifier"
        case shortVersion = "CFBundleShortVersionString"
        case version = "CFBundleVersion"
    }
}
