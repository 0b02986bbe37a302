/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_memory.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int release(struct dl_phdr_info *object, size_t size, void *data) {
    (void)size, (void)data;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        /* Segments that are writable, or were before they were protected, may differ from the file. */
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W)) continue;
        uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_filesz;
        /* Fails for the vDSO and for locked memory, which does no harm. */
        madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void wd_release_program(void) { dl_iterate_phdr(release, NULL); }

void wd_release_heap(void) { malloc_trim(0); }
