/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the list of goroutines of a Go program (runtime.allgs), and the words for their waits
 * (runtime.waitReasonStrings). No thread is stopped yet.
 *
 * The dynamic linker knows no symbol of a Go program, and a shipped program often has no symbols at all. So the
 * executable's variables are searched for values that can hardly be anything else: a slice whose first element is
 * goroutine 1, and an array of strings that begins with known ones. Nothing is read from the file.
 */
#include "internal.h"

#include <string.h>

enum {
    chunk_bytes = 16384, overlap_bytes = 64, head_bytes = 1 << 20, most_bytes = 16 << 20,
    most_candidates = 4096, most_goroutines = 1 << 24,
    info_version = 32, /* in the build information: debug/buildinfo */
};

/* In CPU time, and in wall time: each page may come from a disk. */
static const uint64_t find_budget = 20000000, find_patience = 100000000;

/* The build information: debug/buildinfo. It is before the variables or, if a C linker has linked the program, among
 * them. */
static const char info_magic[] = "\xff Go buildinf:";
enum { info_magic_bytes = sizeof info_magic - 1, info_flags = 15, info_alignment = 16 };

_Static_assert(chunk_bytes <= sizeof((struct wd_snapshot_arena *)0)->scratch, "a chunk fits");

struct search {
    uint64_t began, cpu_began, looked_at;
    size_t candidates;
};

static bool has_time(const struct wd_snapshot_arena *arena, const struct search *search) {
    return !wd_is_over(arena, search->began, search->cpu_began, find_budget, find_patience);
}

/* Reads the version, which is inline since Go 1.18: its length in one byte, then the text. */
static void read_version(struct wd_snapshot_arena *arena, uint64_t address) {
    unsigned char info[info_version + 1 + sizeof arena->go.go.version];
    size_t got = wd_read_memory(arena, address, info, sizeof info);
    if (got <= info_version || (info[info_flags] & 2) == 0) return;
    size_t length = info[info_version];
    if (length >= sizeof arena->go.go.version || length > got - info_version - 1) return;
    memcpy(arena->go.go.version, info + info_version + 1, length);
}

static bool is_go(struct wd_snapshot_arena *arena, uint64_t start, uint64_t end) {
    if (end - start > head_bytes) end = start + head_bytes;
    for (uint64_t at = start; at < end; at += chunk_bytes) {
        size_t got = wd_read_memory(arena, at, arena->scratch, end - at < chunk_bytes ? (size_t)(end - at) : chunk_bytes);
        for (size_t i = 0; i + info_alignment <= got; i += info_alignment) {
            if (memcmp(arena->scratch + i, info_magic, info_magic_bytes) != 0) continue;
            read_version(arena, at + i);
            return true;
        }
        if (got < chunk_bytes) break;
    }
    return false;
}

/* Whether a list begins with goroutine 1, the one of main(). Sets the offset of the status. */
static bool is_list(struct wd_snapshot_arena *arena, uint64_t list) {
    static const uint32_t statuses[] = {144, 152}; /* Go 1.17 to 1.22 and since 1.25; 1.23 and 1.24 */
    uint64_t address;
    char bytes[WD_GOROUTINE];
    if (wd_read_memory(arena, list, &address, sizeof address) != sizeof address || address % 8 != 0
        || !wd_in_intervals(arena->writable, arena->writable_count, address)
        || wd_read_memory(arena, address, bytes, sizeof bytes) != sizeof bytes || !wd_is_goroutine(address, bytes))
        return false;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        uint32_t status = wd_goroutine_status(bytes, statuses[i]);
        if (wd_word(bytes, statuses[i] + 8) != 1 || status == 0 || status > WD_GO_MAX_STATUS) continue;
        arena->go.status = statuses[i];
        return true;
    }
    return false;
}

static void look_for_list(struct wd_snapshot_arena *arena, struct search *search, uint64_t at, const char *words) {
    uint64_t list = wd_word(words, 0), length = wd_word(words, 8), capacity = wd_word(words, 16);
    if (length == 0 || length > capacity || capacity > most_goroutines || list % 8 != 0
        || search->candidates == most_candidates)
        return;
    /* The list is on the heap; what slices that the compiler made refer to is in the file. */
    const struct wd_mapping *mapping = wd_find_mapping(arena, list);
    if (mapping == NULL || mapping->inode != 0 || !(mapping->permissions & WD_WRITABLE)) return;
    search->candidates++;
    if (has_time(arena, search) && is_list(arena, list)) arena->go.list = at;
}

static bool is_text(struct wd_snapshot_arena *arena, uint64_t address, const char *text) {
    char bytes[32];
    size_t length = strlen(text);
    return wd_read_memory(arena, address, bytes, length) == length && memcmp(bytes, text, length) == 0;
}

/* The first words are the same in all versions since 1.11: none, then those for these waits. */
static void look_for_waits(struct wd_snapshot_arena *arena, uint64_t at, const char *words) {
    static const char first[] = "GC assist marking", second[] = "IO wait";
    if (wd_word(words, 0) != 0 || wd_word(words, 8) != 0 || wd_word(words, 24) != sizeof first - 1
        || wd_word(words, 40) != sizeof second - 1)
        return;
    if (is_text(arena, wd_word(words, 16), first) && is_text(arena, wd_word(words, 32), second)) arena->go.waits = at;
}

static void sweep(struct wd_snapshot_arena *arena, struct search *search, uint64_t start, uint64_t end) {
    const size_t step = chunk_bytes - overlap_bytes;
    const char *chunk = arena->scratch;
    for (uint64_t at = start; at < end && search->looked_at < most_bytes; at += step) {
        if ((arena->go.list != 0 && arena->go.waits != 0) || !has_time(arena, search)) return;
        size_t got = wd_read_memory(arena, at, arena->scratch, end - at < chunk_bytes ? (size_t)(end - at) : chunk_bytes);
        search->looked_at += step;
        for (size_t i = 0; i + overlap_bytes <= got; i += 8) {
            if (arena->go.list == 0) look_for_list(arena, search, at + i, chunk + i);
            if (arena->go.waits == 0) look_for_waits(arena, at + i, chunk + i);
        }
    }
}

void wd_find_goroutines(struct wd_snapshot_arena *arena) {
    if (arena->request->method == WD_METHOD_PROCFS || arena->only_resident) return;
    const struct wd_pin *pin = NULL;
    for (size_t i = 0; i < arena->pin_count && pin == NULL; i++)
        if (wd_is_executable(arena, &arena->pins[i])) pin = &arena->pins[i];
    if (pin == NULL || wd_may_block(arena, pin)) return;
    struct search search = {.began = wd_now(), .cpu_began = wd_cpu_now()};
    uint64_t previous = 0; /* the end of the executable's previous mapping */
    for (size_t i = 0; i < arena->mapping_count; i++) {
        const struct wd_mapping *mapping = &arena->mappings[i];
        bool is_file = mapping->inode == pin->inode && mapping->major == pin->major && mapping->minor == pin->minor;
        /* Variables that begin as zero are in no file. */
        bool is_zero = mapping->inode == 0 && mapping->path_length == 0 && mapping->start == previous;
        if (!is_file && !is_zero) continue;
        previous = mapping->end;
        if (!(mapping->permissions & WD_WRITABLE)) continue;
        if (!arena->go.is_found && !is_go(arena, mapping->start, mapping->end)) return;
        arena->go.is_found = true;
        sweep(arena, &search, mapping->start, mapping->end);
    }
}
