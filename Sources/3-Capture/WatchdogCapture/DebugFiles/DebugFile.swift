// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// A file with debug data for one image, identified by its build ID.
public struct DebugFile: Sendable {
    /// An image that needs debug data.
    public struct Wanted: Hashable, Sendable {
        /// The build ID in lower-case hexadecimal, at least two digits.
        public let buildID: String
        /// The name of the image.
        public let name: String
        /// The path in the process.
        public let path: String

        /// Creates a description; checks nothing.
        public init(buildID: String, name: String, path: String) {
            self.buildID = buildID
            self.name = name
            self.path = path
        }
    }

    /// The open file, for reading.
    public let descriptor: OwnedDescriptor
    /// The path at which it was found.
    public let path: String
}
