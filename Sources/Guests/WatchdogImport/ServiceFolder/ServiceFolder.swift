// SPDX-License-Identifier: Apache-2.0

/// A service folder of runit, s6 or s6-rc: its small files, and the names of everything in it.
public struct ServiceFolder: Hashable, Sendable {
    /// The absolute path.
    public let path: String
    /// All names in it.
    public let names: Set<String>
    /// The contents of the relevant files.
    public let files: [String: [UInt8]]

    /// The relevant files, which are read if they exist.
    public static let read = [
        "run", "notification-fd", "timeout-kill", "timeout-up", "timeout-down", "down-signal", "type", "dependencies",
    ]

    /// The maximum number of bytes to read of a file.
    public static let maximumLength = 65_536

    /// Creates a folder.
    public init(path: String, names: Set<String>, files: [String: [UInt8]]) {
        self.path = path
        self.names = names
        self.files = files
    }

    /// The contents of a file as trimmed text; nil if it does not exist.
    func text(_ name: String) -> String? {
        files[name].map { String(String(decoding: $0, as: UTF8.self).trimmed) }
    }
}
