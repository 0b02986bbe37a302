/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* MADV_POPULATE_WRITE needs Linux 5.14; before that, touching each page does the same. */
static void make_resident(void *start, size_t length) {
    uint8_t *page = (uint8_t *)((uintptr_t)start & ~(uintptr_t)4095);
    size_t span = (size_t)((uint8_t *)start + length - page);
    span = (span + 4095) & ~(size_t)4095;
    if (madvise(page, span, MADV_POPULATE_WRITE) == 0) return;
    for (size_t offset = 0; offset < span; offset += 4096) {
        volatile uint8_t *byte = page + offset;
        *byte = *byte;
    }
}

struct wd_snapshot_arena *wd_snapshot_arena_create(size_t resident) {
    struct wd_snapshot_arena *arena = mmap(NULL, sizeof *arena, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) return NULL;
    /* Stacks and registers are confidential: keep them out of core dumps and forked children. */
    madvise(arena, sizeof *arena, MADV_DONTDUMP);
    madvise(arena, sizeof *arena, MADV_DONTFORK);
    if (resident > WD_STACKS_CAPACITY) resident = WD_STACKS_CAPACITY;
    arena->resident = resident;
    if (resident > 0) {
        /* Leave out the table of candidates: only programs with Swift tasks need it, and those need only a part. */
        make_resident(arena, offsetof(struct wd_snapshot_arena, candidate_slots));
        make_resident(arena->writable, 1024 * sizeof arena->writable[0]);
        make_resident(arena->executables, 1024 * sizeof arena->executables[0]);
        make_resident(arena->mappings, 2048 * sizeof arena->mappings[0]);
        make_resident(arena->python_codes, 256 * sizeof arena->python_codes[0]);
        make_resident(arena->python_frames, 1024 * sizeof arena->python_frames[0]);
        make_resident(arena->python_bytes, 128 << 10);
        make_resident(arena->vdso, sizeof arena->vdso);
        make_resident(arena->slots, 256 * sizeof arena->slots[0]);
        make_resident(arena->maps_text, 256 << 10);
        make_resident(arena->stacks, resident);
    }
    return arena;
}

void wd_snapshot_arena_destroy(struct wd_snapshot_arena *arena) {
    if (arena != NULL) munmap(arena, sizeof *arena);
}

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

uint64_t wd_now(void) { return now(CLOCK_MONOTONIC); }
uint64_t wd_cpu_now(void) { return now(CLOCK_THREAD_CPUTIME_ID); }

void wd_note_truncation(struct wd_snapshot_arena *arena, const char *what) {
    if (strstr(arena->truncated, what) != NULL) return;
    size_t used = strlen(arena->truncated);
    size_t length = strlen(what);
    size_t separator = used > 0 ? 2 : 0;
    if (used + separator + length >= sizeof arena->truncated) return;
    if (separator > 0) memcpy(arena->truncated + used, "; ", separator);
    memcpy(arena->truncated + used + separator, what, length + 1);
}
