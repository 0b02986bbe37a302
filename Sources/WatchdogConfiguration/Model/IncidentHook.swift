// SPDX-License-Identifier: Apache-2.0

/// A command that runs after the report of an incident is written.
public struct IncidentHook: Hashable, Sendable {
    /// The command, for `/bin/sh -c`.
    public var command: String
    /// The files of the app that sets it: whoever can write to them decides what runs.
    public internal(set) var files: [String] = []

    /// Creates a hook.
    public init(_ command: String) { self.command = command }
}
