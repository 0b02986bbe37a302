/* SPDX-License-Identifier: Apache-2.0
 *
 * /proc/PID/maps: kept verbatim, and parsed as far as the capture itself needs it. The list may exceed the buffer.
 * It is in ascending order, so libraries and the main thread's stack, without which no stack can be unwound, come
 * last. Some room is reserved for them.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool parse_number(const char **cursor, const char *end, unsigned base, uint64_t *value) {
    const char *start = *cursor;
    uint64_t number = 0;
    for (; *cursor < end; (*cursor)++) {
        unsigned digit;
        char byte = **cursor;
        if (byte >= '0' && byte <= '9') digit = (unsigned)(byte - '0');
        else if (byte >= 'a' && byte <= 'f') digit = (unsigned)(byte - 'a') + 10;
        else break;
        if (digit >= base || number > UINT64_MAX >> 4) return false;
        number = number * base + digit;
    }
    *value = number;
    return *cursor > start;
}

static bool skip(const char **cursor, const char *end, char byte) {
    if (*cursor == end || **cursor != byte) return false;
    (*cursor)++;
    return true;
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE   PATH" */
static bool parse_line(struct wd_mapping *mapping, const char *text, const char *line, const char *end) {
    const char *cursor = line;
    uint64_t offset, major, minor;
    if (!parse_number(&cursor, end, 16, &mapping->start) || !skip(&cursor, end, '-')
        || !parse_number(&cursor, end, 16, &mapping->end) || !skip(&cursor, end, ' ') || end - cursor < 5)
        return false;
    mapping->permissions = (cursor[0] == 'r' ? WD_READABLE : 0) | (cursor[1] == 'w' ? WD_WRITABLE : 0)
        | (cursor[2] == 'x' ? WD_EXECUTABLE : 0);
    cursor += 4;
    if (!skip(&cursor, end, ' ') || !parse_number(&cursor, end, 16, &offset) || !skip(&cursor, end, ' ')
        || !parse_number(&cursor, end, 16, &major) || !skip(&cursor, end, ':')
        || !parse_number(&cursor, end, 16, &minor) || !skip(&cursor, end, ' ')
        || !parse_number(&cursor, end, 10, &mapping->inode))
        return false;
    while (cursor < end && *cursor == ' ') cursor++;
    mapping->major = (uint32_t)major;
    mapping->minor = (uint32_t)minor;
    mapping->path_offset = (uint32_t)(cursor - text);
    mapping->path_length = (uint32_t)(end - cursor);
    return mapping->start < mapping->end;
}

static void extend(struct wd_interval *intervals, size_t *count, const struct wd_mapping *mapping) {
    if (*count > 0 && intervals[*count - 1].end == mapping->start) {
        intervals[*count - 1].end = mapping->end;
        return;
    }
    intervals[(*count)++] = (struct wd_interval){mapping->start, mapping->end};
}

static void parse(struct wd_snapshot_arena *arena) {
    const char *text = arena->maps_text;
    const char *end = text + arena->maps_length;
    arena->mapping_count = arena->writable_count = arena->executable_count = 0;
    uint64_t previous_end = 0;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (newline == NULL) break;
        struct wd_mapping *mapping = &arena->mappings[arena->mapping_count];
        /* Lookups rely on the kernel's ascending order. */
        if (parse_line(mapping, text, line, newline) && mapping->start >= previous_end) {
            previous_end = mapping->end;
            arena->mapping_count++;
            if (mapping->permissions & WD_WRITABLE) extend(arena->writable, &arena->writable_count, mapping);
            if (mapping->permissions & WD_EXECUTABLE) extend(arena->executables, &arena->executable_count, mapping);
        }
        line = newline + 1;
    }
}

/* The lines to keep, of those that were read. */
struct kept_lines {
    size_t length, count;
    size_t file_length, file_count; /* without the lines of the latest file */
    uint64_t inode;                 /* of that file; 0: none */
    uint32_t major, minor;
    bool has_code;
};

static const char without_code[] = "some mappings without code";
/* Enough for a thousand images with five mappings each. */
enum { room_for_code = 1 << 20, lines_for_code = 8192, most_before_code = 8 };
/* Listing a million mappings would delay the kill by half a second. The budget is CPU time, so that a busy machine
   does not cut off the last lines, which have the stacks and the C library. */
static const uint64_t maps_budget = 200000000, maps_patience = 1000000000;

static bool is_out_of_time(const struct wd_snapshot_arena *arena, uint64_t began, uint64_t cpu_began) {
    return wd_is_over(arena, began, cpu_began, maps_budget, maps_patience);
}

static bool is_file(const struct kept_lines *kept, const struct wd_mapping *mapping) {
    return mapping->inode != 0 && mapping->inode == kept->inode && mapping->major == kept->major
        && mapping->minor == kept->minor;
}

static bool is_main_stack(const struct wd_snapshot_arena *arena, const struct wd_mapping *mapping) {
    return mapping->path_length >= 6 && memcmp(arena->maps_text + mapping->path_offset, "[stack", 6) == 0;
}

/* True also for a file whose code has not appeared yet: the first mapping of an image is not executable. */
static bool is_kept(struct wd_snapshot_arena *arena, struct kept_lines *kept, const char *line, const char *end) {
    struct wd_mapping mapping;
    if (!parse_line(&mapping, arena->maps_text, line, end)) return false;
    bool is_same = is_file(kept, &mapping), is_data = kept->inode != 0 && !kept->has_code;
    if (is_data && (!is_same || kept->count - kept->file_count == most_before_code)) {
        wd_note_truncation(arena, without_code);
        kept->length = kept->file_length;
        kept->count = kept->file_count;
    }
    if (!is_same) {
        kept->file_length = kept->length;
        kept->file_count = kept->count;
        kept->inode = mapping.inode;
        kept->major = mapping.major;
        kept->minor = mapping.minor;
        kept->has_code = false;
    }
    if (mapping.permissions & WD_EXECUTABLE) kept->has_code = true;
    if (mapping.inode != 0 || kept->has_code || is_main_stack(arena, &mapping)) return true;
    wd_note_truncation(arena, without_code);
    return false;
}

/* Compacts the kept lines, with the incomplete last line behind them; returns the total length. */
static size_t keep_lines(struct wd_snapshot_arena *arena, struct kept_lines *kept, size_t length) {
    char *text = arena->maps_text, *line = text + kept->length, *end;
    for (; (end = memchr(line, '\n', (size_t)(text + length - line))) != NULL; line = end + 1) {
        bool is_long = kept->length >= WD_MAPS_CAPACITY - room_for_code || kept->count >= WD_MAX_MAPPINGS - lines_for_code;
        if (is_long && (!is_kept(arena, kept, line, end) || kept->count == WD_MAX_MAPPINGS)) continue;
        size_t bytes = (size_t)(end + 1 - line);
        memmove(text + kept->length, line, bytes);
        kept->length += bytes;
        kept->count++;
    }
    size_t rest = (size_t)(text + length - line);
    memmove(text + kept->length, line, rest);
    return kept->length + rest;
}

static int read_maps_of(struct wd_snapshot_arena *arena, pid_t tid) {
    char name[32];
    snprintf(name, sizeof name, "%d/maps", tid);
    int file = openat(arena->task_directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    struct kept_lines kept = {0};
    size_t length = 0;
    ssize_t got = 0;
    uint64_t began = wd_now(), cpu_began = wd_cpu_now();
    while (length < WD_MAPS_CAPACITY) {
        if (is_out_of_time(arena, began, cpu_began)) {
            wd_note_truncation(arena, "mappings that are not read in time");
            break;
        }
        got = read(file, arena->maps_text + length, WD_MAPS_CAPACITY - length);
        if (got <= 0) break;
        length = keep_lines(arena, &kept, length + (size_t)got);
    }
    int error = got < 0 ? errno : 0;
    close(file);
    if (length == WD_MAPS_CAPACITY) wd_note_truncation(arena, "more than 8 MiB of mappings");
    if (kept.count == WD_MAX_MAPPINGS) wd_note_truncation(arena, "more than 65536 mappings");
    arena->maps_length = kept.length;
    if (kept.length == 0) return error != 0 ? error : ESRCH;
    arena->memory_tid = tid;
    return 0;
}

/* The maps file of an exited leader is empty although other threads run, so this tries those next. */
int wd_read_maps(struct wd_snapshot_arena *arena) {
    int error = ESRCH;
    size_t attempts = 0;
    for (size_t i = 0; i < arena->thread_count && attempts < 16; i++) {
        const struct wd_thread *thread = &arena->slots[i].thread;
        if (thread->state == 'Z' || thread->state == 'X') continue;
        attempts++;
        error = read_maps_of(arena, thread->tid);
        if (error == 0) {
            parse(arena);
            return 0;
        }
    }
    return error;
}

/* The index of the first mapping that ends above an address. */
static size_t first_above(const struct wd_snapshot_arena *arena, uint64_t address) {
    size_t low = 0, high = arena->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (arena->mappings[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

const struct wd_mapping *wd_find_mapping(const struct wd_snapshot_arena *arena, uint64_t address) {
    size_t low = first_above(arena, address);
    if (low == arena->mapping_count || arena->mappings[low].start > address) return NULL;
    return &arena->mappings[low];
}

/* The nearest mapping above an address without a readable mapping; NULL if what comes next cannot be a stack. */
const struct wd_mapping *wd_find_mapping_above(const struct wd_snapshot_arena *arena, uint64_t address) {
    size_t low = first_above(arena, address);
    /* Skip the guard pages of a stack, which are a mapping, too. */
    if (low < arena->mapping_count && (arena->mappings[low].permissions & WD_READABLE) == 0) low++;
    if (low == arena->mapping_count || arena->mappings[low].start <= address) return NULL;
    return (arena->mappings[low].permissions & WD_WRITABLE) != 0 ? &arena->mappings[low] : NULL;
}

bool wd_in_intervals(const struct wd_interval *intervals, size_t count, uint64_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (intervals[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    return low < count && intervals[low].start <= address;
}

bool wd_path_contains(const struct wd_snapshot_arena *arena, const struct wd_mapping *mapping, const char *name) {
    return memmem(arena->maps_text + mapping->path_offset, mapping->path_length, name, strlen(name)) != NULL;
}

void wd_read_vdso(struct wd_snapshot_arena *arena) {
    static const char name[] = "[vdso]";
    for (size_t i = arena->mapping_count; i-- > 0;) {
        const struct wd_mapping *mapping = &arena->mappings[i];
        if (mapping->path_length != sizeof name - 1
            || memcmp(arena->maps_text + mapping->path_offset, name, sizeof name - 1) != 0)
            continue;
        uint64_t length = mapping->end - mapping->start;
        if (length > WD_VDSO_CAPACITY) length = WD_VDSO_CAPACITY;
        arena->vdso_address = mapping->start;
        arena->vdso_length = wd_read_memory(arena, mapping->start, arena->vdso, (size_t)length);
        return;
    }
}
