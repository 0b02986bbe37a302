// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogRendering

/// On what kind of thing a thread was blocked, from the name of the system call, how it slept, and what ended the block.
enum BlockPlace: Equatable {
    case files
    case network
    /// A socket that may well be a local one.
    case socket
    /// A child process.
    case child
    /// Only time.
    case timer
    /// A lock, an event loop, another process, or unknown.
    case other

    private static let socketCalls: Set<Substring> = [
        "connect", "accept", "accept4", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg",
    ]
    /// Calls for files of any kind: only how they slept tells what they were for.
    private static let anyFileCalls: Set<Substring> = ["read", "readv", "write", "writev", "sendfile", "splice"]
    private static let fileCalls: Set<Substring> = [
        "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "fsync", "fdatasync",
        "sync", "syncfs", "sync_file_range", "msync", "open", "openat", "openat2", "stat", "lstat", "newfstatat",
        "statx",
        "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "rename", "renameat", "renameat2",
        "unlink", "unlinkat", "mkdir", "mkdirat", "ftruncate", "fallocate", "flock", "copy_file_range",
        "execve",
    ]

    init(_ block: LaneSpan) {
        guard let detail = block.detail, let call = block.call else {
            self = .other
            return
        }
        if Self.socketCalls.contains(call) {
            // A packet wakes by an interrupt, from this machine too; the other end of a local socket wakes as a thread.
            self = block.waker == .interrupt ? .network : .socket
        } else if Self.fileCalls.contains(call)
            // Pipes and sockets do not sleep uninterruptibly.
            || Self.anyFileCalls.contains(call) && detail.hasSuffix("uninterruptible")
        {
            self = .files
        } else if ["wait4", "waitid", "waitpid"].contains(call) {
            self = .child
        } else if ["nanosleep", "clock_nanosleep"].contains(call) {
            self = .timer
        } else {
            self = .other
        }
    }
}
