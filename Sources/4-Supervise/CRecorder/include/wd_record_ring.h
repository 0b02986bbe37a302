/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring buffer of an event's records, written by the kernel: perf_event_open(2), "MMAP layout".
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct wd_record_ring {
    void *memory;
    size_t bytes; /* the size of the data area */
};

/* Maps an event's ring; bytes is a power of 2 and a multiple of the page size. EPERM: the ring exceeds
   perf_event_mlock_kb. */
int wd_record_ring_map(int event, size_t bytes, struct wd_record_ring *ring);

/* Moves all records to `records`, which must be as large as the ring, and returns their length in bytes. */
size_t wd_record_ring_take(const struct wd_record_ring *ring, uint8_t *records);

void wd_record_ring_unmap(const struct wd_record_ring *ring);
