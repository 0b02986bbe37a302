/* SPDX-License-Identifier: Apache-2.0
 *
 * Maintains the table of threads by listing /proc/PID/task without allocating.
 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t tid_slot(pid_t tid) {
    return ((uint32_t)tid * UINT32_C(2654435769)) >> 19;
}
_Static_assert(WD_TID_SLOTS == 1 << 13, "tid_slot keeps 13 bits");

static uint16_t *locate(struct wd_snapshot_arena *arena, pid_t tid) {
    size_t place = tid_slot(tid);
    while (arena->tid_slots[place] != 0 && arena->slots[arena->tid_slots[place] - 1].thread.tid != tid)
        place = (place + 1) % WD_TID_SLOTS;
    return &arena->tid_slots[place];
}

struct wd_slot *wd_find_thread(struct wd_snapshot_arena *arena, pid_t tid) {
    uint16_t index = *locate(arena, tid);
    return index == 0 ? NULL : &arena->slots[index - 1];
}

static void add(struct wd_snapshot_arena *arena, pid_t tid, bool *added) {
    uint16_t *index = locate(arena, tid);
    if (*index != 0) {
        arena->slots[*index - 1].listed = true;
        return;
    }
    if (arena->thread_count == WD_SNAPSHOT_MAX_THREADS) {
        wd_note_truncation(arena, "more than 4096 threads");
        return;
    }
    struct wd_slot *slot = &arena->slots[arena->thread_count];
    memset(slot, 0, sizeof *slot);
    slot->thread.tid = tid;
    slot->thread.state = '?';
    slot->listed = true;
    *index = (uint16_t)++arena->thread_count;
    *added = true;
}

/* Adds new threads and marks those that are listed. Returns 0 or an errno. The kernel lists the leader first, even
 * after its exit. */
int wd_list_threads(struct wd_snapshot_arena *arena, bool *added) {
    *added = false;
    for (size_t i = 0; i < arena->thread_count; i++) arena->slots[i].listed = false;
    if (lseek(arena->task_directory, 0, SEEK_SET) < 0) return errno;
    for (;;) {
        long length = syscall(SYS_getdents64, arena->task_directory, arena->scratch, sizeof arena->scratch);
        if (length < 0) return errno;
        if (length == 0) return 0;
        for (long offset = 0; offset < length;) {
            const struct dirent64 *entry = (const struct dirent64 *)(arena->scratch + offset);
            offset += entry->d_reclen;
            long tid = strtol(entry->d_name, NULL, 10);
            if (tid > 0 && tid <= INT32_MAX) add(arena, (pid_t)tid, added);
        }
    }
}
