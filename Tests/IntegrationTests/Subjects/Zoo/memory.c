// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "zoo.h"

// The page is registered with a userfaultfd that nobody serves.
KIND(page_fault) {
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    if (file < 0 || ioctl(file, UFFDIO_API, &api) != 0) fail("userfaultfd");
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(unsigned long)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (ioctl(file, UFFDIO_REGISTER, &range) != 0) fail("register");
    sink = (unsigned long)*(volatile char *)page;
}

// Another thread holds the lock of the process's memory map almost constantly.
static void *populate(void *unused) {
    const size_t size = 256 << 20;
    (void)unused;
    for (;;) {
        void *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (region == MAP_FAILED) fail("mmap");
        munmap(region, size);
    }
    return NULL;
}
KIND(memory_map) {
    start(populate, NULL, "populate");
    for (;;) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) fail("mmap");
        munmap(page, 4096);
    }
}
