/* SPDX-License-Identifier: Apache-2.0
 *
 * /proc/PID/maps: kept verbatim, and parsed for what the capture itself has to know.
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
        if (arena->mapping_count == WD_MAX_MAPPINGS) {
            wd_note_truncation(arena, "more than 65536 mappings");
            break;
        }
        struct wd_mapping *mapping = &arena->mappings[arena->mapping_count];
        /* Look-ups rely on the ascending order that the kernel keeps. */
        if (parse_line(mapping, text, line, newline) && mapping->start >= previous_end) {
            previous_end = mapping->end;
            arena->mapping_count++;
            if (mapping->permissions & WD_WRITABLE) extend(arena->writable, &arena->writable_count, mapping);
            if (mapping->permissions & WD_EXECUTABLE) extend(arena->executables, &arena->executable_count, mapping);
        }
        line = newline + 1;
    }
}

static int read_maps_of(struct wd_snapshot_arena *arena, pid_t tid) {
    char name[32];
    snprintf(name, sizeof name, "%d/maps", tid);
    int file = openat(arena->task_directory, name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    size_t length = 0;
    ssize_t got = 0;
    while (length < WD_MAPS_CAPACITY) {
        got = read(file, arena->maps_text + length, WD_MAPS_CAPACITY - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    int error = got < 0 ? errno : 0;
    close(file);
    if (length == WD_MAPS_CAPACITY) {
        wd_note_truncation(arena, "more than 8 MiB of mappings");
        while (length > 0 && arena->maps_text[length - 1] != '\n') length--;
    }
    arena->maps_length = length;
    if (length == 0) return error != 0 ? error : ESRCH;
    arena->memory_tid = tid;
    return 0;
}

/* A leader that has exited shows no mappings while other threads still run, so the next ones are asked. */
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

const struct wd_mapping *wd_find_mapping(const struct wd_snapshot_arena *arena, uint64_t address) {
    size_t low = 0, high = arena->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (arena->mappings[middle].end <= address) low = middle + 1;
        else high = middle;
    }
    if (low == arena->mapping_count || arena->mappings[low].start > address) return NULL;
    return &arena->mappings[low];
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
