// SPDX-License-Identifier: Apache-2.0

/// The working directory of an app.
public struct WorkingDirectory: Hashable, Sendable {
    /// A directory.
    public enum Location: Hashable, Sendable {
        /// An absolute path.
        case path(String)
        /// `~`: the home directory of the app's user.
        case home
    }

    /// The directory.
    public var location: Location
    /// `-`: if it does not exist, the app starts in the default directory.
    public var isOptional: Bool

    /// Creates a working directory.
    public init(_ location: Location, isOptional: Bool = false) {
        self.location = location
        self.isOptional = isOptional
    }
}
