// SPDX-License-Identifier: Apache-2.0

/// A command that runs after the report of an incident is written.
public struct IncidentHook: Hashable, Sendable {
    /// The command, for `/bin/sh -c`.
    public var command: String
    /// The files of the app that sets it: whoever can write to them decides what runs.
    public internal(set) var files: [String] = []

    /// How long it may run.
    public var timeout = defaultTimeout
    /// Whether it also runs for hangs that ended by themselves.
    public var includesHangs = false

    /// The limit unless another is set: long enough for a mail server that is slow.
    public static let defaultTimeout = Duration.seconds(30)
    /// The longest limit: few commands run at a time.
    public static let longestTimeout = Duration.seconds(3_600)

    /// Which reports a hook runs for.
    public enum Occasion: String, Hashable, Sendable, CaseIterable {
        /// Exhausted allowances and crashes.
        case failures
        /// Also hangs that ended by themselves.
        case all
    }

    /// Creates a hook.
    public init(_ command: String) { self.command = command }
}
