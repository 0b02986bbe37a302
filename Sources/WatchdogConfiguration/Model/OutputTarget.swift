// SPDX-License-Identifier: Apache-2.0

/// Where an app's standard output or error goes.
public enum OutputTarget: Hashable, Sendable {
    /// The journal.
    case journal
    /// Standard output: the daemon's own. Standard error: where standard output goes.
    case inherit
    /// Nowhere.
    case null
    /// A file, written from its beginning without emptying it.
    case file(path: String)
    /// A file, written at its end.
    case append(path: String)
    /// A file, emptied at each launch.
    case truncate(path: String)
}
