// SPDX-License-Identifier: Apache-2.0

/// Determines which processes' memory can be read without waiting.
///
/// process_vm_readv(2) takes the process's mmap_lock and may fault in its pages. A thread that holds the lock while it
/// waits for a file system, or for its own userfaultfd(2), would make the reader wait just as long.
final class MemoryAccess {
    private var isSafe: [Int32: Bool] = [:]

    /// True if no thread of the process is in uninterruptible sleep or waits for a userfaultfd; checked once per
    /// process.
    func isSafe(_ process: Int32, _ budget: WorkBudget) -> Bool {
        if let known = isSafe[process] { return known }
        let answer = Procfs.threads(of: process).allSatisfy { thread in
            guard !budget.isSpent, let stat = ProcessStat.read(process, thread: thread) else { return false }
            guard stat.state == .sleeping else { return stat.state != .uninterruptible }
            return WaitChannel.read(process, thread: thread)?.contains("userfault") != true
        }
        isSafe[process] = answer
        return answer
    }
}
