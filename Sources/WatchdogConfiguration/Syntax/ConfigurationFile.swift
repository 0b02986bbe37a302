// SPDX-License-Identifier: Apache-2.0

/// A file as it was read.
public struct ConfigurationFile: Hashable, Sendable {
    /// The most bytes that a file may have.
    public static let maximumLength = 4 << 20

    /// Its path, as messages are to name it.
    public let path: String
    /// Its bytes; those beyond ``maximumLength`` may be missing.
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
