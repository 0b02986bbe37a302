/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds HotSpot, OpenJDK's virtual machine, and where its structures have what is needed. No thread is stopped yet.
 *
 * libjvm.so describes its own structures for debuggers, in tables to which exported symbols lead: vmStructs.hpp. They are
 * in its memory, and written by nobody after the start; but the process is untrusted, so what they say only decides what
 * is read of the process, and every offset is bounded.
 */
#include "internal.h"

#include <string.h>

enum { most_entries = 8192, batch = 64, text_bytes = 48, most_offset = 8192, library_bytes = 9 };
static const char library[] = "libjvm.so";

/* VMStructEntry and VMTypeEntry. */
struct field_entry {
    uint64_t type, name, type_name;
    int32_t is_static;
    uint64_t offset, address;
};
struct type_entry {
    uint64_t name, parent;
    int32_t kinds[4];
    uint64_t size;
};
_Static_assert(sizeof(struct field_entry) == 48 && sizeof(struct type_entry) == 40, "the strides that are expected");

struct field {
    const char *type, *name;
    size_t place; /* in struct wd_java_layout */
};
static const struct field fields[] = {
#define X(place, type, name) {type, name, offsetof(struct wd_java_layout, place)},
    WD_JAVA_FIELDS(X) WD_JAVA_OTHER_FIELDS(X)
#undef X
};
static const struct field sizes[] = {
#define X(place, type) {type, NULL, offsetof(struct wd_java_layout, place##_size)},
    WD_JAVA_SIZES(X)
#undef X
};
enum { field_count = sizeof fields / sizeof fields[0], size_count = sizeof sizes / sizeof sizes[0] };

static void set(struct wd_snapshot_arena *arena, size_t place, uint64_t value) {
    memcpy((char *)&arena->java.layout + place, &value, sizeof value);
}

static void read_text(struct wd_snapshot_arena *arena, uint64_t address, char text[text_bytes]) {
    text[wd_read_paged(arena, address, text, text_bytes - 1) ? text_bytes - 1 : 0] = '\0';
}

/* The table to which a symbol leads, if its entries have the expected length; 0 if there is none. */
static uint64_t find_table(struct wd_snapshot_arena *arena, uint64_t image, const char *name, const char *stride_name,
                           size_t stride) {
    uint64_t symbol = wd_find_symbol(arena, image, name, NULL), table;
    uint64_t stride_symbol = wd_find_symbol(arena, image, stride_name, NULL), length;
    if (symbol == 0 || stride_symbol == 0 || wd_read_memory(arena, symbol, &table, sizeof table) != sizeof table
        || wd_read_memory(arena, stride_symbol, &length, sizeof length) != sizeof length || length != stride)
        return 0;
    return table;
}

static bool is_one_of(const char *type, const char *const *types) {
    for (; *types != NULL; types++)
        if (strcmp(type, *types) == 0) return true;
    return false;
}

/* Whether an entry can be what it says: only the needed fields of some types are variables, with an address, and those of
 * code are read from a copy of its first bytes. */
static bool is_plausible(const char *type, const struct field_entry *entry) {
    static const char *const variables[] = {
        "CodeCache", "AbstractInterpreter", "StubRoutines", "Abstract_VM_Version", "ThreadsSMRSupport", "Threads", NULL};
    static const char *const copied[] = {"CodeBlob", "CompiledMethod", "nmethod", NULL};
    if (is_one_of(type, variables)) return entry->is_static != 0;
    return entry->is_static == 0
           && entry->offset <= (is_one_of(type, copied) ? WD_JAVA_BLOB - sizeof(uint64_t) : most_offset);
}

static void read_fields(struct wd_snapshot_arena *arena, uint64_t table) {
    struct field_entry entries[batch];
    char type[text_bytes] = "", name[text_bytes];
    uint64_t latest = 0; /* whose text `type` is */
    bool is_needed = false;
    for (size_t read = 0; read < most_entries; read += batch) {
        size_t got = wd_read_memory(arena, table + read * sizeof entries[0], entries, sizeof entries) / sizeof entries[0];
        for (size_t i = 0; i < got; i++) {
            const struct field_entry *entry = &entries[i];
            if (entry->type == 0) return;
            if (entry->type != latest) {
                read_text(arena, entry->type, type);
                latest = entry->type;
                is_needed = false;
                for (size_t j = 0; j < field_count; j++) is_needed = is_needed || strcmp(fields[j].type, type) == 0;
            }
            if (!is_needed || !is_plausible(type, entry)) continue;
            read_text(arena, entry->name, name);
            for (size_t j = 0; j < field_count; j++)
                if (strcmp(fields[j].type, type) == 0 && strcmp(fields[j].name, name) == 0)
                    set(arena, fields[j].place, entry->is_static ? entry->address : entry->offset);
        }
        if (got < batch || wd_is_paged_over(arena)) return;
    }
}

static void read_sizes(struct wd_snapshot_arena *arena, uint64_t table) {
    struct type_entry entries[batch];
    char name[text_bytes];
    size_t left = size_count;
    for (size_t read = 0; read < most_entries && left > 0; read += batch) {
        size_t got = wd_read_memory(arena, table + read * sizeof entries[0], entries, sizeof entries) / sizeof entries[0];
        for (size_t i = 0; i < got; i++) {
            if (entries[i].name == 0) return;
            read_text(arena, entries[i].name, name);
            for (size_t j = 0; j < size_count; j++) {
                if (strcmp(sizes[j].type, name) != 0 || entries[i].size >= most_offset) continue;
                set(arena, sizes[j].place, entries[i].size);
                left--;
            }
        }
        if (got < batch || wd_is_paged_over(arena)) return;
    }
}

/* Whether a version describes all that no version may lack. */
static bool is_complete(const struct wd_java_layout *layout) {
#define X(name, type, field) if (layout->name == WD_JAVA_ABSENT) return false;
    WD_JAVA_FIELDS(X)
#undef X
#define X(name, type) if (layout->name##_size == WD_JAVA_ABSENT) return false;
    WD_JAVA_SIZES(X)
#undef X
    return (layout->list != WD_JAVA_ABSENT && layout->list_length != WD_JAVA_ABSENT && layout->list_threads != WD_JAVA_ABSENT)
           || (layout->first_thread != WD_JAVA_ABSENT && layout->next_thread != WD_JAVA_ABSENT);
}

static bool is_library(const struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    const char *path = arena->maps_text + pin->path_offset;
    return pin->path_length > library_bytes && path[pin->path_length - library_bytes - 1] == '/'
           && memcmp(path + pin->path_length - library_bytes, library, library_bytes) == 0;
}

void wd_find_java(struct wd_snapshot_arena *arena) {
    struct wd_java_runtime *java = &arena->java;
    if (arena->request->method == WD_METHOD_PROCFS || arena->only_resident) return;
    for (size_t i = 0; i < arena->pin_count; i++) {
        uint64_t image = arena->pins[i].start;
        if (!is_library(arena, &arena->pins[i]) || wd_may_block(arena, &arena->pins[i])) continue;
        uint64_t structures =
            find_table(arena, image, "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride", sizeof(struct field_entry));
        uint64_t types = find_table(arena, image, "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride", sizeof(struct type_entry));
        java->is_found = true;
        java->java.reading = WD_JAVA_UNKNOWN_VERSION;
        memset(&java->layout, 0xff, sizeof java->layout);
        if (structures == 0 || types == 0) return;
        read_fields(arena, structures);
        read_sizes(arena, types);
        uint32_t version;
        if (java->layout.version != WD_JAVA_ABSENT
            && wd_read_memory(arena, java->layout.version, &version, sizeof version) == sizeof version)
            java->java.version = version;
        if (is_complete(&java->layout)) java->java.reading = WD_JAVA_READ;
        return;
    }
}
