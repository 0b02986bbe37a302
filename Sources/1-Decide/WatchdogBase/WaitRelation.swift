// SPDX-License-Identifier: Apache-2.0

/// How a process or thread can end the wait of another one.
public enum WaitRelation: String, Codable, Sendable, CaseIterable {
    /// It holds the lock in memory.
    case holds
    /// It holds the file lock.
    case locks
    /// It is the awaited child.
    case child
    /// It is one of several children, any of which would end the wait.
    case anyChild = "any-child"
    /// It is the joined thread.
    case ends
    /// It has used the System V semaphore or message queue last, and may have what is awaited.
    case lastUsed = "last-used"
}
