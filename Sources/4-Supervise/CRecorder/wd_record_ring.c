/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_record_ring.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

int wd_record_ring_map(int event, size_t bytes, struct wd_record_ring *ring) {
    void *memory = mmap(NULL, page_size() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (memory == MAP_FAILED) return -1;
    ring->memory = memory;
    ring->bytes = bytes;
    return 0;
}

size_t wd_record_ring_take(const struct wd_record_ring *ring, uint8_t *records) {
    struct perf_event_mmap_page *page = ring->memory;
    const uint8_t *data = (const uint8_t *)ring->memory + page_size();
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    size_t length = (size_t)(head - tail);
    if (length > ring->bytes) length = ring->bytes;
    size_t begin = (size_t)(tail & (ring->bytes - 1));
    size_t first = length < ring->bytes - begin ? length : ring->bytes - begin;
    memcpy(records, data + begin, first);
    memcpy(records + first, data, length - first);
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return length;
}

void wd_record_ring_unmap(const struct wd_record_ring *ring) { munmap(ring->memory, page_size() + ring->bytes); }
