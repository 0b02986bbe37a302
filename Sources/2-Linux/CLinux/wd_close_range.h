/* SPDX-License-Identifier: Apache-2.0
 *
 * close_range(2), also where it does not exist: Linux before 5.9, and seccomp filters of container engines that do not
 * know it, which answer EPERM or ENOSYS.
 */
#pragma once
#include <asm/unistd.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wd_spawn_child.h"

/* Closes what /proc lists. False if it lists nothing: it is not mounted, or belongs to another pid namespace. */
WD_CHILD static inline bool wd_close_listed(unsigned first, unsigned last) {
    /* linux_dirent64: getdents(2). */
    enum { LENGTH = 16, NAME = 19 };
    static const char path[] = "/proc/self/fd";
    uint64_t words[128];
    const char *bytes = (const char *)words;
    long directory = CALL(__NR_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0);
    if (directory < 0) return false;
    long size;
    /* The position is the next number, so that closing an entry skips none: proc_readfd_common(), fs/proc/fd.c. */
    while ((size = CALL(__NR_getdents64, directory, words, sizeof words, 0, 0)) > 0) {
        for (long entry = 0; entry < size; entry += *(const uint16_t *)(bytes + entry + LENGTH)) {
            const char *name = bytes + entry + NAME;
            unsigned number = 0;
            bool is_number = *name != 0;
            for (; *name != 0 && is_number; name++) {
                is_number = *name >= '0' && *name <= '9';
                number = number * 10 + (unsigned)(*name - '0');
            }
            if (is_number && number >= first && number <= last && number != (unsigned)directory)
                CALL(__NR_close, number, 0, 0, 0, 0);
        }
    }
    CALL(__NR_close, directory, 0, 0, 0, 0);
    return size == 0;
}

/* Closes all descriptors from first to last. Without close_range(2) and /proc, those below the limit of open files, but at
 * most MOST: a limit of a billion is usual in containers. Makes only raw system calls. */
WD_CHILD static inline void wd_close_range(unsigned first, unsigned last) {
    enum { MOST = 1 << 16, OPEN_FILES = 7 /* RLIMIT_NOFILE */ };
    if (CALL(__NR_close_range, first, last, 0, 0, 0) == 0 || wd_close_listed(first, last)) return;
    struct wd_kernel_limit limit;
    limit.soft = MOST;
    CALL(__NR_prlimit64, 0, OPEN_FILES, NULL, &limit, 0);
    uint64_t end = limit.soft < MOST ? limit.soft : MOST;
    for (uint64_t number = first; number <= last && number < end; number++) CALL(__NR_close, number, 0, 0, 0, 0);
}
