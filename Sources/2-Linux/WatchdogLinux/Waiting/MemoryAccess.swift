// SPDX-License-Identifier: Apache-2.0

import CLinux

/// Determines which processes' memory can be read without waiting.
///
/// process_vm_readv(2) takes the process's mmap_lock and may fault in its pages. A thread that holds the lock while it
/// waits for a file system, or for its own userfaultfd(2), would make the reader wait just as long.
final class MemoryAccess {
    /// Whose memory may be read; nil for everybody's.
    private let user: UInt32?
    private var isSafe: [Int32: Bool] = [:]

    init(of user: UInt32? = nil) { self.user = user }

    /// True if no thread of the process waits for a userfaultfd or sleeps uninterruptibly, except for a file server;
    /// checked once per process.
    func isSafe(_ process: Int32, _ budget: WorkBudget) -> Bool {
        if let known = isSafe[process] { return known }
        let isPermitted = user.map { $0 == ProcessStatus.read(process)?.user } ?? true
        let answer =
            isPermitted
            && Procfs.threads(of: process).allSatisfy { thread in
                guard !budget.isSpent, let stat = ProcessStat.read(process, thread: thread) else { return false }
                switch stat.state {
                case .sleeping: return WaitChannel.read(process, thread: thread)?.contains("userfault") != true
                case .uninterruptible: return Self.isWaitingForServer(process, thread)
                default: return true
                }
            }
        isSafe[process] = answer
        return answer
    }

    /// Whether a thread looks up a path, or is in another call that does not touch memory then, and waits for a server.
    ///
    /// The kernel copies a path before it looks it up, so such a call holds no lock of the memory map.
    private static func isWaitingForServer(_ process: Int32, _ thread: Int32) -> Bool {
        guard let channel = WaitChannel.read(process, thread: thread),
            servers.contains(where: channel.hasPrefix),
            let call = WaitLook.syscall(.init(process: process, thread: thread)).flatMap({ BlockedCall(parsing: $0) })
        else { return false }
        var arguments = wd_path_call()
        return wd_find_path_call(call.number, &arguments) || wd_call_leaves_memory(call.number)
    }

    /// Where file systems of Linux wait for the answer of a server.
    private static let servers = [
        "rpc_", "nfs", "fuse_", "__fuse_", "request_wait_answer", "cifs_", "smb2_", "wait_for_response", "ceph_", "p9_",
        "v9fs_", "autofs_", "d_alloc_parallel",
    ]
}
