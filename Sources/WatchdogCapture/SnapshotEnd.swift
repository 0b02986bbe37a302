// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// What a capture did to the process in the end.
public enum SnapshotEnd: Sendable, Hashable {
    /// It runs on as before.
    case untouched
    /// SIGKILL was sent.
    case killed
    /// SIGKILL could not be sent, or its control group's `cgroup.kill` could not be written.
    case killFailed(Errno)
}
