// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// A file with debug data of one image, told by its build-id.
public struct DebugFile: Sendable {
    /// An image whose debug data is wanted.
    public struct Wanted: Hashable, Sendable {
        /// Its build-id in lower-case hexadecimal, two digits or more.
        public let buildID: String
        /// Its name.
        public let name: String
        /// Its path in the process.
        public let path: String

        /// Creates a wish.
        public init(buildID: String, name: String, path: String) {
            self.buildID = buildID
            self.name = name
            self.path = path
        }
    }

    /// The file.
    public let descriptor: OwnedDescriptor
    /// Where it was found.
    public let path: String
}
