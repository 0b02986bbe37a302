// SPDX-License-Identifier: Apache-2.0

/// The two file system operations that loading a configuration needs.
public protocol ConfigurationFileSystem {
    /// The bytes of a regular file, at most `limit` of them.
    func contents(of path: String, limit: Int) throws(ConfigurationReadError) -> [UInt8]
    /// The names in a directory, in any order.
    func names(in directory: String) throws(ConfigurationReadError) -> [String]
    /// What a symbolic link contains; nil if there is none at the path.
    func link(at path: String) -> String?
}

extension ConfigurationFileSystem {
    /// Nil: a file system without links.
    public func link(at path: String) -> String? { nil }
}

/// A file or directory that could not be read.
public struct ConfigurationReadError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Whether it does not exist.
    public let isMissing: Bool
    /// "cannot open /x: Permission denied (EACCES)".
    public let description: String

    /// Creates an error.
    public init(isMissing: Bool, _ description: String) {
        self.isMissing = isMissing
        self.description = description
    }
}
