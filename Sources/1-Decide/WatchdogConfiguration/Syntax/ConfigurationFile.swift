// SPDX-License-Identifier: Apache-2.0

/// A file that has been read.
public struct ConfigurationFile: Hashable, Sendable {
    /// The maximum length of a file, in bytes.
    public static let maximumLength = 4 << 20

    /// Its path for messages.
    public let path: String
    /// Its bytes, perhaps cut after ``maximumLength``.
    public let contents: [UInt8]

    /// Creates a file from its bytes.
    public init(path: String, contents: [UInt8]) {
        self.path = path
        self.contents = contents
    }

    /// Creates a file from text.
    public init(path: String, text: String) {
        self.init(path: path, contents: Array(text.utf8))
    }
}
