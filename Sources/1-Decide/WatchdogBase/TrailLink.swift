// SPDX-License-Identifier: Apache-2.0

/// How the wait of one process leads to the next one.
public enum TrailLink: String, Codable, Sendable, CaseIterable {
    /// It has to send something over a connection.
    case reply
    /// It has to read what was sent over a connection.
    case room
    /// It has to accept a connection.
    case acceptance
    /// It has to write into a pipe.
    case output
    /// It has to read from a pipe.
    case drain
    /// It holds a lock of flock(2).
    case fileLock = "file-lock"
    /// It holds a record lock of fcntl(2).
    case recordLock = "record-lock"
    /// It holds a lock in memory that processes share.
    case mutex
    /// It is a child whose end, or program, is awaited.
    case child
    /// It has used a System V semaphore or message queue last.
    case systemV = "system-v"
    /// It serves a file system.
    case fileServer = "file-server"
}

/// How much may be revealed about a process.
public enum TrailSight: String, Codable, Sendable, CaseIterable {
    /// Everything.
    case whole
    /// What everybody may see, because the app's user may not read the process.
    case outside
    /// The same, because watchdogd itself may not read it.
    case refused
}
