// SPDX-License-Identifier: Apache-2.0

/// A place in a configuration file.
public struct ConfigurationPlace: Hashable, Sendable, CustomStringConvertible {
    /// The file's path as it was given.
    public let file: String
    /// The line, counted from 1.
    public let line: Int
    /// The column, counted in Unicode scalars from 1.
    public let column: Int

    /// `file:line:column`.
    public var description: String { "\(file):\(line):\(column)" }
}
