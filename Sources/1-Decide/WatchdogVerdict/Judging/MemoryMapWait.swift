// SPDX-License-Identifier: Apache-2.0

/// A wait for the lock of the process's own memory map, `mmap_lock`, which looks like an uninterruptible sleep.
package enum MemoryMapWait {
    /// The verdict's name for the lock.
    static let subject = "the lock of the process's memory map"

    /// The kernel functions that take the lock and have no other sleep of their own, Linux 5.10 to 6.18: mm/mmap.c,
    /// mm/mprotect.c, mm/mremap.c, mm/madvise.c, mm/gup.c, mm/memory.c, kernel/fork.c, arch/x86/mm/fault.c.
    ///
    /// wchan skips the lock's own functions, which are `__sched`.
    private static let functions: Set<String> = [
        "__vm_munmap", "vm_mmap_pgoff", "vm_brk_flags", "__do_sys_brk", "do_mprotect_pkey", "__do_sys_mremap",
        "do_mremap", "do_madvise", "madvise_lock", "__mm_populate", "do_mlock", "dup_mmap", "do_user_addr_fault",
        "lock_mm_and_find_vma",
    ]
    /// The C library's functions that change the map: a thread that holds the lock is inside one of them.
    private static let changes = [
        "mmap", "mmap64", "__mmap", "__mmap64", "munmap", "__munmap", "mremap", "__mremap", "mprotect", "__mprotect",
        "madvise", "__madvise", "brk", "__brk", "mlock", "mlockall", "fork", "_Fork", "__fork",
    ]

    /// Whether a thread in this state waits for the lock.
    package static func isOne(state: Character?, waitChannel: String?) -> Bool {
        state == "D" && waitChannel.map(functions.contains) == true
    }

    /// Whether a stack ends in a call that changes the map.
    static func isChange(_ stack: NamedStack) -> Bool { stack.first(changes, within: 2) != nil }
}
