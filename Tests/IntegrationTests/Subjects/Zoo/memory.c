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

// The parent of vfork sleeps where no signal reaches it until its child executes something.
KIND(vfork_parent) {
    if (vfork() == 0) {
        // Only system calls: the memory is the parent's.
        for (;;) {
            struct timespec time = {1000, 0};
            syscall(SYS_nanosleep, &time, NULL);
        }
    }
}
