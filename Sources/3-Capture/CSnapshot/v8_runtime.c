/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds V8, and where its structures have what is needed. No thread is stopped yet.
 *
 * V8 exports the layout of its structures for debuggers, as one number for each field, type and constant:
 * tools/gen-postmortem-metadata.py. The process is untrusted, so what they say only decides what is read of it.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

enum { most_offset = 4096, most_symbol = 96, least_bytes = 8 << 20, most_candidates = 4 };

static bool read_number(struct wd_snapshot_arena *arena, uint64_t image, const char *name, int32_t *value) {
    char symbol[most_symbol];
    snprintf(symbol, sizeof symbol, "v8dbg_%s", name);
    uint64_t address = wd_find_symbol(arena, image, symbol, NULL);
    return address != 0 && wd_read_paged(arena, address, value, sizeof *value);
}

static bool find_field(struct wd_snapshot_arena *arena, uint64_t image, const char *const *names, int32_t *value) {
    for (; *names != NULL; names++)
        if (read_number(arena, image, *names, value) && *value < most_offset && *value > -most_offset) return true;
    return false;
}

static bool read_layout(struct wd_snapshot_arena *arena, uint64_t image) {
#define X(field, ...)                                                                                                  \
    if (!find_field(arena, image, (const char *const[]){__VA_ARGS__, NULL}, &arena->v8.layout.field)) return false;
    WD_V8_FIELDS(X)
#undef X
    return arena->v8.layout.word_bytes == sizeof(uint64_t);
}

/* V8 has more code than most programs, so that these need not be asked for its symbols. */
static bool is_large(const struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    uint64_t mapped = 0;
    for (size_t i = 0; i < arena->mapping_count && mapped < least_bytes; i++) {
        const struct wd_mapping *mapping = &arena->mappings[i];
        if (mapping->inode == pin->inode && mapping->major == pin->major && mapping->minor == pin->minor)
            mapped += mapping->end - mapping->start;
    }
    return mapped >= least_bytes;
}

static bool is_candidate(const struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    static const char library[] = "libnode.so";
    const char *path = arena->maps_text + pin->path_offset;
    const char *slash = memrchr(path, '/', pin->path_length);
    size_t left = slash == NULL ? 0 : pin->path_length - (size_t)(slash + 1 - path);
    return (left >= sizeof library - 1 && memcmp(slash + 1, library, sizeof library - 1) == 0)
           || (wd_is_executable(arena, pin) && is_large(arena, pin));
}

void wd_find_v8(struct wd_snapshot_arena *arena) {
    int32_t bytes;
    if (arena->request->method == WD_METHOD_PROCFS || arena->only_resident) return;
    for (size_t i = 0, candidates = 0; i < arena->pin_count && candidates < most_candidates; i++) {
        const struct wd_pin *pin = &arena->pins[i];
        if (!is_candidate(arena, pin) || wd_may_block(arena, pin)) continue;
        candidates++;
        if (!read_number(arena, pin->start, "TaggedSize", &bytes)) continue;
        arena->v8.is_found = true;
        arena->v8.v8.reading = read_layout(arena, pin->start) ? WD_V8_READ : WD_V8_UNKNOWN_VERSION;
        return;
    }
}
