/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* The thread whose memory was read has ended; any other thread shares the address space. */
static bool use_another_thread(struct wd_snapshot_arena *arena) {
    const struct wd_slot *current = wd_find_thread(arena, arena->memory_tid);
    size_t next = current == NULL ? 0 : (size_t)(current - arena->slots) + 1;
    if (next >= arena->thread_count) return false;
    arena->memory_tid = arena->slots[next].thread.tid;
    return true;
}

/* Some seccomp profiles of container engines allow ptrace(2) and deny process_vm_readv(2). The permission is the same. */
static ssize_t read_file(const struct wd_snapshot_arena *arena, struct iovec local, const struct iovec *remote,
                         size_t count) {
    char name[32];
    snprintf(name, sizeof name, "%d/mem", arena->memory_tid);
    int file = openat(arena->task_directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        if (errno == ENOENT) errno = ESRCH;
        return -1;
    }
    size_t total = 0;
    bool has_ended = false;
    for (size_t i = 0; i < count; i++) {
        ssize_t got = pread(file, (char *)local.iov_base + total, remote[i].iov_len, (off_t)(uintptr_t)remote[i].iov_base);
        if (got > 0) total += (size_t)got;
        if (got == 0 && total == 0 && remote[i].iov_len > 0) has_ended = true; /* the thread has no memory anymore */
        if (got < (ssize_t)remote[i].iov_len) break;
    }
    close(file);
    if (has_ended) {
        errno = ESRCH;
        return -1;
    }
    return (ssize_t)total;
}

/* Copies up to the first page that is not mapped. Needs no stop, only PTRACE_MODE_ATTACH permission. */
size_t wd_read_vectors(struct wd_snapshot_arena *arena, struct iovec local, const struct iovec *remote, size_t count) {
    if (arena->memory_tid == 0 || local.iov_len == 0) return 0;
    do {
        ssize_t got = process_vm_readv(arena->memory_tid, &local, 1, remote, count, 0);
        if (got < 0 && (errno == EPERM || errno == ENOSYS))
            got = read_file(arena, local, remote, count);
        if (got >= 0) return (size_t)got;
    } while (errno == ESRCH && use_another_thread(arena));
    return 0;
}

size_t wd_read_memory(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length) {
    struct iovec local = {buffer, length};
    struct iovec remote = {(void *)(uintptr_t)address, length};
    return wd_read_vectors(arena, local, &remote, 1);
}
