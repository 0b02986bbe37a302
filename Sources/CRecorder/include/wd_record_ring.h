/* SPDX-License-Identifier: Apache-2.0
 *
 * The ring into which the kernel writes the records of events: perf_event_open(2), "MMAP layout".
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct wd_record_ring {
    void *memory;
    size_t bytes; /* of records */
};

/* Maps an event's ring; bytes is a power of 2 and a multiple of the page size. EPERM: beyond perf_event_mlock_kb. */
int wd_record_ring_map(int event, size_t bytes, struct wd_record_ring *ring);

/* Moves all records to `records`, which has room for the ring's bytes, and returns their length. */
size_t wd_record_ring_take(const struct wd_record_ring *ring, uint8_t *records);

void wd_record_ring_unmap(const struct wd_record_ring *ring);
