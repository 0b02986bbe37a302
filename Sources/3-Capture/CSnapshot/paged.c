/* SPDX-License-Identifier: Apache-2.0
 *
 * Small reads of a runtime's structures, some thousands for a process, most of them near each other: each read may be a
 * message to the process that reads, so whole pages are kept.
 */
#include "internal.h"

#include <string.h>

enum { page_bytes = 4096, page_bits = 7 };
_Static_assert(WD_PAGES == 1 << page_bits, "the hash has as many bits");

static const uint64_t patience = 100000000;

void wd_begin_paged(struct wd_snapshot_arena *arena, uint64_t budget) {
    memset(arena->page_addresses, 0, sizeof arena->page_addresses);
    arena->paged_began = wd_now();
    arena->paged_cpu_began = wd_cpu_now();
    arena->paged_budget = budget;
}

bool wd_is_paged_over(const struct wd_snapshot_arena *arena) {
    return wd_is_over(arena, arena->paged_began, arena->paged_cpu_began, arena->paged_budget, patience);
}

/* A page; NULL if not all of it can be read, or the time is over: each read may wait for a page fault. */
static const uint8_t *find_page(struct wd_snapshot_arena *arena, uint64_t address) {
    size_t place = (size_t)((address / page_bytes * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - page_bits));
    if (arena->page_addresses[place] == address) return arena->pages[place];
    arena->page_addresses[place] = 0;
    if (wd_is_paged_over(arena)) return NULL;
    if (wd_read_memory(arena, address, arena->pages[place], page_bytes) != page_bytes) return NULL;
    arena->page_addresses[place] = address;
    return arena->pages[place];
}

bool wd_read_paged(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length) {
    uint8_t *target = buffer;
    if (address < page_bytes || address > UINT64_MAX - length) return false;
    while (length > 0) {
        size_t offset = (size_t)(address % page_bytes);
        size_t part = length < page_bytes - offset ? length : page_bytes - offset;
        const uint8_t *page = find_page(arena, address - offset);
        if (page == NULL) return false;
        memcpy(target, page + offset, part);
        target += part;
        address += part;
        length -= part;
    }
    return true;
}
