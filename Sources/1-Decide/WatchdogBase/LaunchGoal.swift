// SPDX-License-Identifier: Apache-2.0

/// What ends a launch that is recorded or measured.
public enum LaunchGoal: String, Codable, Sendable, CaseIterable {
    /// The program says `READY=1`.
    case ready
    /// The program says `FIRST_FRAME=1`.
    case firstFrame = "first-frame"
    /// The program says `USEFUL=1`.
    case useful
    /// The program listens on a socket for the first time.
    case listen
    /// The program's main thread waits for events for the first time.
    case idle
    /// The program exits.
    case exit
}
