/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int wd_page_cache_evict(int file) {
    /* A file on a read-only file system has nothing to write. */
    if (fdatasync(file) < 0 && errno != EROFS && errno != EINVAL) return -1;
    int error = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    if (error != 0) errno = error;
    return error == 0 ? 0 : -1;
}

static int is_visible(int file) {
    struct stat status;
    char path[40];
    if (fstat(file, &status) < 0) return 0;
    if (geteuid() == 0 || status.st_uid == geteuid()) return 1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return access(path, W_OK) == 0;
}

int64_t wd_page_cache_resident(int file, int64_t size) {
    enum { PART = 1 << 14 };
    unsigned char pages[PART];
    int64_t page = sysconf(_SC_PAGESIZE), count = (size + page - 1) / page, resident = 0;
    if (size <= 0) return 0;
    if (!is_visible(file)) return errno = EPERM, -1;
    char *address = mmap(NULL, (size_t)size, PROT_NONE, MAP_SHARED, file, 0);
    if (address == MAP_FAILED) return -1;
    for (int64_t first = 0; first < count; first += PART) {
        int64_t part = count - first < PART ? count - first : PART;
        if (mincore(address + first * page, (size_t)(part * page), pages) < 0) {
            int error = errno;
            munmap(address, (size_t)size);
            return errno = error, -1;
        }
        for (int64_t i = 0; i < part; i++) resident += pages[i] & 1;
    }
    munmap(address, (size_t)size);
    return resident * page < size ? resident * page : size;
}
