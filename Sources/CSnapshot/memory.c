/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <sys/uio.h>

/* The thread through which memory was read has ended: any other shares the address space. */
static bool use_another_thread(struct wd_snapshot_arena *arena) {
    const struct wd_slot *current = wd_find_thread(arena, arena->memory_tid);
    size_t next = current == NULL ? 0 : (size_t)(current - arena->slots) + 1;
    if (next >= arena->thread_count) return false;
    arena->memory_tid = arena->slots[next].thread.tid;
    return true;
}

/* Copies up to the first page that is not mapped. Needs no stop, only PTRACE_MODE_ATTACH permission. */
size_t wd_read_memory(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length) {
    if (arena->memory_tid == 0 || length == 0) return 0;
    struct iovec local = {buffer, length};
    struct iovec remote = {(void *)(uintptr_t)address, length};
    do {
        ssize_t got = process_vm_readv(arena->memory_tid, &local, 1, &remote, 1, 0);
        if (got >= 0) return (size_t)got;
    } while (errno == ESRCH && use_another_thread(arena));
    return 0;
}
