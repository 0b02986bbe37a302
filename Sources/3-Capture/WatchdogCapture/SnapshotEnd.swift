// SPDX-License-Identifier: Apache-2.0

public import WatchdogLinux

/// The final effect of a capture on the process.
public enum SnapshotEnd: Sendable, Hashable {
    /// It keeps running as before.
    case untouched
    /// SIGKILL was sent.
    case killed
    /// SIGKILL could not be sent, or the `cgroup.kill` file of its cgroup could not be written.
    case killFailed(Errno)
}
