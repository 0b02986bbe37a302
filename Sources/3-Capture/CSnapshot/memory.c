/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const uint64_t page = 4096;
enum { largest_pages = 65 }; /* of the longest copy, at any alignment */
_Static_assert(WD_MEMORY_BYTES / 4096 < largest_pages, "wd_resident_length looks at a whole read");

/* The thread whose memory was read has ended; any other thread shares the address space. */
static bool use_another_thread(struct wd_snapshot_arena *arena) {
    const struct wd_slot *current = wd_find_thread(arena, arena->memory_tid);
    size_t next = current == NULL ? 0 : (size_t)(current - arena->slots) + 1;
    if (next >= arena->thread_count) return false;
    arena->memory_tid = arena->slots[next].thread.tid;
    return true;
}

/* Some seccomp profiles of container engines allow ptrace(2) and deny process_vm_readv(2). Opening /proc/PID/mem
 * takes the same permission, which is checked only there; Yama may grant it to this process but not to the reader. */
static int open_memory(const struct wd_snapshot_arena *arena) {
    char name[32];
    snprintf(name, sizeof name, "%d/mem", arena->memory_tid);
    int file = openat(arena->task_directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) errno = ESRCH;
    return file;
}

static ssize_t read_file(int file, const struct iovec *ranges, size_t count, void *buffer) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        ssize_t got = pread(file, (char *)buffer + total, ranges[i].iov_len, (off_t)(uintptr_t)ranges[i].iov_base);
        if (got == 0 && total == 0 && ranges[i].iov_len > 0) { /* the thread has exited */
            errno = ESRCH;
            return -1;
        }
        if (got > 0) total += (size_t)got;
        if (got < (ssize_t)ranges[i].iov_len) break;
    }
    return (ssize_t)total;
}

static ssize_t read_here(pid_t process, int file, const struct iovec *ranges, size_t count, void *buffer) {
    if (file >= 0) return read_file(file, ranges, count, buffer);
    struct iovec local = {.iov_base = buffer};
    for (size_t i = 0; i < count; i++) local.iov_len += ranges[i].iov_len;
    return process_vm_readv(process, &local, 1, ranges, count, 0);
}

static ssize_t copy(struct wd_snapshot_arena *arena, int file, const struct iovec *ranges, size_t count, void *buffer) {
    const struct wd_memory_reader *reader = &arena->request->reader;
    if (reader->read == NULL) return read_here(arena->memory_tid, file, ranges, count, buffer);
    return reader->read(reader->context, arena->memory_tid, file, ranges, count, buffer);
}

static ssize_t copy_permitted(struct wd_snapshot_arena *arena, const struct iovec *ranges, size_t count, void *buffer) {
    if (!arena->reads_file) {
        ssize_t got = copy(arena, -1, ranges, count, buffer);
        if (got >= 0 || (errno != EPERM && errno != ENOSYS)) return got;
        arena->reads_file = true;
    }
    int file = open_memory(arena);
    if (file < 0) return -1;
    ssize_t got = copy(arena, file, ranges, count, buffer);
    int error = errno;
    close(file);
    errno = error;
    return got;
}

static int open_pagemap(const struct wd_snapshot_arena *arena) {
    char name[32];
    snprintf(name, sizeof name, "%d/pagemap", arena->memory_tid);
    return openat(arena->task_directory, name, O_RDONLY | O_CLOEXEC);
}

static size_t resident_length(int pagemap, uint64_t start, size_t length) {
    static const uint64_t present = UINT64_C(1) << 63; /* proc_pid_pagemap(5) */
    uint64_t entries[largest_pages], first = start / page;
    size_t count = length == 0 ? 0 : (size_t)((start + length - 1) / page - first) + 1;
    if (count > largest_pages) count = largest_pages;
    ssize_t got = pread(pagemap, entries, count * sizeof *entries, (off_t)(first * sizeof *entries));
    if (got < 0) return length;
    size_t pages = 0;
    while (pages < (size_t)got / sizeof *entries && (entries[pages] & present) != 0) pages++;
    uint64_t end = (first + pages) * page;
    if (end <= start) return 0;
    return end - start < length ? (size_t)(end - start) : length;
}

size_t wd_resident_length(struct wd_snapshot_arena *arena, uint64_t start, size_t length) {
    int pagemap = open_pagemap(arena);
    size_t resident = resident_length(pagemap, start, length);
    if (pagemap >= 0) close(pagemap);
    return resident;
}

/* The index of the first range with a page that is not resident, and that page; `count` if all are resident. */
static size_t find_absent(const struct wd_snapshot_arena *arena, const struct iovec *ranges, size_t count,
                          uint64_t *address) {
    int pagemap = open_pagemap(arena);
    size_t i = 0;
    for (; i < count; i++) {
        uint64_t start = (uintptr_t)ranges[i].iov_base;
        size_t resident = resident_length(pagemap, start, ranges[i].iov_len);
        *address = start + resident;
        if (resident < ranges[i].iov_len) break;
    }
    if (pagemap >= 0) close(pagemap);
    return i;
}

static uint64_t page_of(uint64_t address) { return address & ~(page - 1); }

/* Reports only the first one, on behalf of all. */
void wd_note_left_out(struct wd_snapshot_arena *arena, uint64_t address) {
    if (arena->has_left_out) return;
    arena->has_left_out = true;
    char note[80];
    snprintf(note, sizeof note, "the page at 0x%llx would have had to be read in, and was left out",
             (unsigned long long)page_of(address));
    wd_note_truncation(arena, note);
}

/* A page fault that does not return is tried once per capture: from then on, only resident pages are read. */
static void note_silence(struct wd_snapshot_arena *arena, const struct iovec *ranges, size_t count) {
    if (arena->only_resident) {
        arena->is_silent = true;
        return wd_note_truncation(arena, "its memory does not answer");
    }
    arena->only_resident = true;
    arena->has_left_out = true;
    uint64_t silent;
    if (find_absent(arena, ranges, count, &silent) == count) silent = (uintptr_t)ranges[0].iov_base;
    char note[64];
    snprintf(note, sizeof note, "the page at 0x%llx did not answer", (unsigned long long)page_of(silent));
    wd_note_truncation(arena, note);
}

/* The number of leading ranges that are resident. */
static size_t count_resident(struct wd_snapshot_arena *arena, const struct iovec *ranges, size_t count) {
    uint64_t absent;
    size_t resident = find_absent(arena, ranges, count, &absent);
    if (resident < count) wd_note_left_out(arena, absent);
    return resident;
}

/* Copies up to the first page that is not mapped. The target need not be stopped; this takes PTRACE_MODE_ATTACH
   permission. */
static size_t read_ranges(struct wd_snapshot_arena *arena, void *buffer, const struct iovec *ranges, size_t count) {
    if (arena->memory_tid == 0 || arena->is_silent || count == 0) return 0;
    do {
        ssize_t got = copy_permitted(arena, ranges, count, buffer);
        if (got >= 0) return (size_t)got;
    } while (errno == ESRCH && use_another_thread(arena));
    int error = errno;
    if (error == ETIMEDOUT) note_silence(arena, ranges, count);
    if (error == EBUSY) {
        arena->is_silent = true;
        wd_note_truncation(arena, "there was nobody to read its memory");
    }
    return 0;
}

size_t wd_read_vectors(struct wd_snapshot_arena *arena, void *buffer, const struct iovec *ranges, size_t count) {
    if (arena->only_resident) count = count_resident(arena, ranges, count);
    return read_ranges(arena, buffer, ranges, count);
}

/* Reads the resident beginning of a range. */
static size_t read_resident(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length) {
    size_t resident = wd_resident_length(arena, address, length);
    if (resident < length) wd_note_left_out(arena, address + resident);
    struct iovec range = {(void *)(uintptr_t)address, resident};
    return resident == 0 ? 0 : read_ranges(arena, buffer, &range, 1);
}

size_t wd_read_memory(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length) {
    size_t total = 0;
    while (total < length) {
        size_t wanted = length - total < WD_MEMORY_BYTES ? length - total : WD_MEMORY_BYTES, got = 0;
        struct iovec range = {(void *)(uintptr_t)(address + total), wanted};
        bool was_careful = arena->only_resident;
        if (!was_careful) got = read_ranges(arena, (char *)buffer + total, &range, 1);
        if (arena->only_resident) got = read_resident(arena, address + total, (char *)buffer + total, wanted);
        total += got;
        if (got < wanted) break;
    }
    return total;
}
