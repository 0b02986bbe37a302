/* SPDX-License-Identifier: Apache-2.0
 *
 * Swift's asynchronous callers live on the heap, as a chain of AsyncContext { parent; resumeParent; … }. Every word
 * of the stacks and registers that points into writable memory is a candidate; it is kept when its second word points
 * into code, and then its parent is a candidate too.
 */
#include "internal.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const size_t scan_budget = (size_t)2 << 20;
enum { batch = WD_MEMORY_RANGES };

/* A statically linked Swift program has sections named swift5_…; only their names are checked. */
static bool has_swift_sections(int file) {
    Elf64_Ehdr header;
    Elf64_Shdr names;
    char text[8192];
    if (pread(file, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0
        || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof names
        || header.e_shoff > INT64_MAX / 2)
        return false;
    off_t offset = (off_t)header.e_shoff + (off_t)header.e_shstrndx * (off_t)sizeof names;
    if (pread(file, &names, sizeof names, offset) != sizeof names || names.sh_offset > INT64_MAX / 2) return false;
    size_t size = names.sh_size < sizeof text ? (size_t)names.sh_size : sizeof text;
    ssize_t length = pread(file, text, size, (off_t)names.sh_offset);
    return length > 0 && memmem(text, (size_t)length, "swift5_", 7) != NULL;
}

bool wd_may_run_swift_tasks(struct wd_snapshot_arena *arena) {
    bool has_core = false;
    for (size_t i = 0; i < arena->mapping_count; i++) {
        const struct wd_mapping *mapping = &arena->mappings[i];
        if (!(mapping->permissions & WD_EXECUTABLE) || mapping->inode == 0) continue;
        if (wd_path_contains(arena, mapping, "libswift_Concurrency.so")) return true;
        if (wd_path_contains(arena, mapping, "libswiftCore.so")) has_core = true;
    }
    if (has_core || arena->executable_pin < 0) return false;
    /* Opening a file of a network or FUSE file system can block indefinitely. Those have no block device, hence
     * major number 0: for them, answer true, which costs time but is never wrong. */
    struct statx status;
    if (statx(arena->executable_pin, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return false;
    if (status.stx_dev_major == 0) return true;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", arena->executable_pin);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) return false;
    bool found = has_swift_sections(file);
    close(file);
    return found;
}

/* Slots of earlier captures carry an older epoch, so the table needs no clearing. */
static void consider(struct wd_snapshot_arena *arena, size_t *count, uint64_t address) {
    if (arena->writable_count == 0 || (address & 7) != 0 || address < arena->writable[0].start
        || address >= arena->writable[arena->writable_count - 1].end || *count == WD_MAX_CANDIDATES)
        return;
    size_t place = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 49);
    while (arena->candidate_slots[place].epoch == arena->candidate_epoch) {
        if (arena->candidate_slots[place].address == address) return;
        place = (place + 1) % WD_CANDIDATE_SLOTS;
    }
    if (!wd_in_intervals(arena->writable, arena->writable_count, address)) return;
    arena->candidate_slots[place].epoch = arena->candidate_epoch;
    arena->candidate_slots[place].address = address;
    arena->candidates[(*count)++] = address;
}
_Static_assert(WD_CANDIDATE_SLOTS == 1 << 15, "consider keeps 15 bits");

static void consider_thread(struct wd_snapshot_arena *arena, const struct wd_slot *slot, size_t limit, size_t *count) {
    if (slot->thread.register_source == WD_REGISTERS_PTRACE)
        for (size_t i = 0; i < WD_RIP; i++) consider(arena, count, slot->thread.registers[i]);
    const uint8_t *stack = arena->stacks + slot->stack_offset;
    uint64_t low = slot->stack_address, high = low + slot->stack_length;
    size_t length = slot->stack_length < limit ? slot->stack_length : limit;
    for (size_t offset = 0; offset + 8 <= length; offset += 8) {
        uint64_t word;
        memcpy(&word, stack + offset, sizeof word);
        if (word - low >= high - low) consider(arena, count, word);
    }
}

static void keep(struct wd_snapshot_arena *arena, size_t *count, uint64_t address, const uint64_t words[2]) {
    uint64_t parent = words[0], resume = words[1];
    if ((parent & 7) != 0 || !wd_in_intervals(arena->executables, arena->executable_count, resume)) return;
    if (parent != 0 && !wd_in_intervals(arena->writable, arena->writable_count, parent)) return;
    if (arena->context_count == WD_MAX_CONTEXTS) {
        wd_note_truncation(arena, "more than 4096 asynchronous contexts");
        return;
    }
    arena->contexts[arena->context_count++] = (struct wd_async_context){address, parent, resume};
    if (parent != 0) consider(arena, count, parent);
}

void wd_read_contexts(struct wd_snapshot_arena *arena) {
    size_t count = 0;
    arena->candidate_epoch++;
    size_t limit = arena->thread_count == 0 ? 0 : scan_budget / arena->thread_count;
    for (size_t i = 0; i < arena->thread_count; i++) consider_thread(arena, &arena->slots[i], limit, &count);

    struct iovec remote[batch];
    uint64_t words[batch][2];
    for (size_t next = 0; next < count;) {
        size_t wanted = count - next < batch ? count - next : batch;
        for (size_t i = 0; i < wanted; i++)
            remote[i] = (struct iovec){(void *)(uintptr_t)arena->candidates[next + i], sizeof words[0]};
        size_t got = wd_read_vectors(arena, words, remote, wanted) / sizeof words[0];
        for (size_t i = 0; i < got; i++) keep(arena, &count, arena->candidates[next + i], words[i]);
        next += got < wanted ? got + 1 : wanted; /* skip the unmapped address at which the read ended */
    }
    if (count == WD_MAX_CANDIDATES) wd_note_truncation(arena, "more than 8192 possible asynchronous contexts");
}
