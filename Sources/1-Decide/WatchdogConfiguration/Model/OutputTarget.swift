// SPDX-License-Identifier: Apache-2.0

/// Where an app's standard output or error goes.
public enum OutputTarget: Hashable, Sendable {
    /// The journal.
    case journal
    /// For standard output, the daemon's own; for standard error, wherever standard output goes.
    case inherit
    /// Nowhere.
    case null
    /// A file, written from its start without truncating it.
    case file(path: String)
    /// A file, appended to.
    case append(path: String)
    /// A file, truncated at each launch.
    case truncate(path: String)
}
