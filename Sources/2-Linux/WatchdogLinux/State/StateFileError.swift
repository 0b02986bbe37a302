// SPDX-License-Identifier: Apache-2.0

/// Why a state file cannot be used.
public struct StateFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the file.
    public enum Reason: Hashable, Sendable {
        /// It cannot be opened or read; contains the kernel's message.
        case unreadable(String)
        /// It is not a state file, or contains nothing intact.
        case damaged
        /// A newer watchdogd wrote it, in this format.
        case newer(UInt32)
        /// It was written before the last boot, so the processes that it names are gone.
        case otherBoot
    }

    /// The file.
    public let path: String
    /// What is wrong with the file.
    public let reason: Reason

    /// Creates an error.
    public init(_ path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    /// "/run/watchdogd/serve/x.state was written by a newer watchdogd (format 2)".
    public var description: String {
        switch reason {
        case .unreadable(let words): words
        case .damaged: "\(path) is not a complete state file"
        case .newer(let format): "\(path) was written by a newer watchdogd (format \(format))"
        case .otherBoot: "\(path) is from before the machine was booted"
        }
    }
}
