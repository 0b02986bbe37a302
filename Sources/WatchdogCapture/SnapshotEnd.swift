// SPDX-License-Identifier: Apache-2.0

/// What a capture did to the process in the end.
public enum SnapshotEnd: Sendable, Equatable {
    /// It runs on as before.
    case untouched
    /// SIGKILL was sent.
    case killed
    /// SIGKILL could not be sent, or its control group's `cgroup.kill` could not be written.
    ///
    /// - Parameter errno: the system's error number.
    case killFailed(errno: Int32)
}
