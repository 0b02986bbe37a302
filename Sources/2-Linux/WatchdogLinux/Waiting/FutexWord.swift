// SPDX-License-Identifier: Apache-2.0

/// The memory around the word that a thread waits on in futex(2), and what it says about the lock's holder.
///
/// The layouts are ABI: `struct __pthread_mutex_s` and `struct __pthread_rwlock_arch_t` in glibc on 64-bit
/// little-endian machines, `sysdeps/*/nptl/bits/struct_mutex.h` and `struct_rwlock.h`. Programs are compiled against
/// them, and they have not changed since 2.30.
struct FutexWord: Hashable {
    /// A lock, and the thread that its memory names.
    struct Claim: Hashable {
        let object: String
        let thread: Int32
        /// Whether the wait is for the thread to end, and not for a lock that it holds.
        var isThreadEnd = false
        /// Whether processes may share the lock: the call is not marked private.
        var isShared = false
        /// Whether the memory after the lock is that of an unused list entry: more than chance makes it a mutex.
        var isSurelyMutex = false

        /// Whether the lock may belong to a thread that is gone: thread IDs follow that of their process closely.
        func mayBeOfEndedThread(of process: Int32) -> Bool {
            isSurelyMutex && thread > process && thread - process < 65_536
        }
    }

    /// The number of bytes read before the word.
    static let before = 12
    /// The total number of bytes read: enough for a mutex, or for a read-write lock with the word in its middle.
    static let length = 40

    private let operation: Int32
    private let expected: UInt32
    private let words: [UInt32]

    /// - Parameters:
    ///   - operation: futex's second argument.
    ///   - expected: futex's third argument, the value with which a wait begins.
    ///   - memory: the bytes around the word, starting ``before`` bytes before it.
    init?(operation: Int32, expected: UInt32, memory: [UInt8]) {
        guard memory.count >= Self.length else { return nil }
        self.operation = operation
        self.expected = expected
        words = stride(from: 0, to: Self.length, by: 4).map { offset in
            memory[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    /// The `int` at an offset from the futex word.
    private func word(_ offset: Int) -> UInt32 { words[(Self.before + offset) / 4] }

    /// The thread that the memory names as the holder, not yet checked for existence.
    ///
    /// Nil if nothing is certain: for a semaphore, a condition variable, a custom lock, or a lock that is about to
    /// change hands.
    var claim: Claim? {
        let value = word(0)
        switch operation & Self.commandMask {
        case 6, 13:
            // FUTEX_LOCK_PI, FUTEX_LOCK_PI2: the kernel itself requires that the word names the owner.
            return Self.thread(value).map {
                Claim(
                    object: "priority-inheritance mutex", thread: $0, isShared: operation & Self.privateFlag == 0)
            }
        case 0, 9:
            // FUTEX_WAIT, FUTEX_WAIT_BITSET: a waiter sleeps only while the word has the expected value.
            guard value == expected else { return nil }
            return mutex(value) ?? readWriteLock(value) ?? joining(value)
        default: return nil
        }
    }

    /// The control block of the thread that has locked a stream of standard I/O; nil if the memory cannot be such a lock.
    ///
    /// `_IO_lock_t` in glibc's `sysdeps/nptl/stdio-lock.h`: the lock, how often its owner has taken it, and the owner.
    var streamOwner: UInt64? {
        // 2: locked, with waiters: lowlevellock.h.
        guard operation & Self.commandMask == 0, word(0) == 2, expected == 2, (1...65_536).contains(word(4)) else {
            return nil
        }
        let owner = UInt64(word(12)) << 32 | UInt64(word(8))
        return owner > 0xffff_ffff && owner % 16 == 0 ? owner : nil
    }

    private static let commandMask: Int32 = 0x7f
    private static let privateFlag: Int32 = 0x80
    private static let ownerDied: UInt32 = 0x4000_0000
    private static let waiters: UInt32 = 0x8000_0000

    private static func thread(_ value: UInt32) -> Int32? {
        let id = value & ~(waiters | ownerDied)
        return value & ownerDied == 0 && id > 0 ? Int32(id) : nil
    }

    private func mutex(_ lock: UInt32) -> Claim? {
        let (count, owner, users, kind) = (word(4), word(8), word(12), word(16))
        // Bits for type, robust, inherit, protect, shared, elision on and off; with any other bit it is not a mutex.
        guard kind & ~0x3f3 == 0, (1...65_536).contains(users), let thread = Self.thread(owner) else { return nil }
        let type = kind & 3
        let isRobust = kind & 16 != 0
        // Robust mutexes also count, whatever their type: pthread_mutex_lock.c.
        guard type == 1 || isRobust ? count >= 1 : count == 0 else { return nil }
        let name = ["mutex", "recursive mutex", "error-checking mutex", "adaptive mutex"][Int(type)]
        if isRobust {
            // A robust mutex has its owner in the lock word as well.
            guard lock & Self.waiters != 0, Self.thread(lock) == thread else { return nil }
            return Claim(
                object: "robust \(name)", thread: thread, isShared: operation & Self.privateFlag == 0)
        }
        // 2: locked, with waiters: lowlevellock.h.
        guard lock == 2 else { return nil }
        return Claim(
            object: name, thread: thread, isShared: operation & Self.privateFlag == 0,
            isSurelyMutex: word(20) == 0 && word(24) == 0)
    }

    /// Readers sleep on `__wrphase_futex` at offset 8, writers on `__writers_futex` at 12; both words are 3 while a
    /// writer holds the lock.
    private func readWriteLock(_ value: UInt32) -> Claim? {
        guard value == 3 else { return nil }
        for offset in [8, 12] {
            let readers = word(-offset)
            let writer = word(24 - offset)
            // PTHREAD_RWLOCK_WRPHASE and PTHREAD_RWLOCK_WRLOCKED: no reader holds the lock.
            guard readers & 3 == 3, writer & Self.waiters == 0, let thread = Self.thread(writer)
            else { continue }
            return Claim(object: "read-write lock", thread: thread)
        }
        return nil
    }

    /// The wait in pthread_join(3), which sleeps on the word in which the kernel clears a thread's ID when it ends.
    ///
    /// The kernel wakes the word as a shared futex, so the call is not marked private.
    private func joining(_ value: UInt32) -> Claim? {
        guard operation & Self.privateFlag == 0, operation & Self.commandMask == 9,
            value & (Self.waiters | Self.ownerDied) == 0,
            let thread = Self.thread(value)
        else { return nil }
        return Claim(object: "thread", thread: thread, isThreadEnd: true)
    }
}
