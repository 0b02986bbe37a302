/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of JavaScript: their names, their files, and the lines at which they begin. V8's objects are untrusted: each
 * is copied by bounded reads, because its address may be garbage.
 *
 * The address of an object has its lowest bit set; a number has its value in the upper half of the word.
 */
#include "internal.h"

#include <string.h>

enum {
    function_types = 17, /* of functions, classes and constructors: JS_FUNCTION_TYPE and those that follow it */
    scope_words = 12,    /* that are read of a ScopeInfo, behind the names of its variables */
    most_variables = 75, /* kScopeInfoMaxInlinedLocalNamesSize: the names of more are in another object */
    most_source = 8 << 20,
    slot_bits = 12,
};
_Static_assert(WD_V8_SLOTS == 1 << slot_bits, "the hash has as many bits");

bool wd_has_v8_time(struct wd_snapshot_arena *arena) {
    if (!wd_is_paged_over(arena)) return true;
    arena->v8.v8.reading = WD_V8_CUT;
    return false;
}

static bool is_object(uint64_t word) { return (word & 3) == 1; }
static bool is_number(uint64_t word) { return (word & UINT32_MAX) == 0; }
static int32_t number(uint64_t word) { return (int32_t)(word >> 32); }

static bool read_field(struct wd_snapshot_arena *arena, uint64_t object, int32_t offset, void *value, size_t length) {
    return is_object(object) && wd_read_paged(arena, object - 1 + (uint64_t)(int64_t)offset, value, length);
}

/* The type of an object; -1 for anything else. */
static int32_t type_of(struct wd_snapshot_arena *arena, uint64_t object) {
    uint64_t map;
    uint16_t type;
    if (!read_field(arena, object, 0, &map, sizeof map)
        || !read_field(arena, map, arena->v8.layout.map_type, &type, sizeof type))
        return -1;
    return type;
}

/* -- Texts -- */

/* A text whose characters are in one piece, in the object itself. */
struct text {
    uint64_t bytes;
    uint32_t length; /* in characters */
    uint8_t width;   /* bytes per character */
};

static bool is_text(const struct wd_snapshot_arena *arena, int32_t type) {
    return type >= 0 && (type & arena->v8.layout.text_limit) == 0;
}

static bool find_text(struct wd_snapshot_arena *arena, uint64_t object, struct text *text) {
    int32_t type = type_of(arena, object), length;
    if (!is_text(arena, type)) return false;
    /* One that stands for another, as names do that were computed. */
    if ((type & arena->v8.layout.text_form) == arena->v8.layout.thin_form) {
        if (!read_field(arena, object, arena->v8.layout.thin_text, &object, sizeof object)) return false;
        type = type_of(arena, object);
        if (!is_text(arena, type)) return false;
    }
    if ((type & arena->v8.layout.text_form) != 0
        || !read_field(arena, object, arena->v8.layout.text_length, &length, sizeof length) || length < 0)
        return false;
    *text = (struct text){
        .bytes = object - 1 + (uint64_t)(int64_t)arena->v8.layout.text_bytes, .length = (uint32_t)length,
        .width = (type & arena->v8.layout.text_encoding) != 0 ? 1 : 2,
    };
    return true;
}

static uint32_t copy_text(struct wd_snapshot_arena *arena, uint64_t object, uint8_t *width) {
    struct wd_v8_runtime *v8 = &arena->v8;
    struct text text;
    *width = 1;
    if (!find_text(arena, object, &text)) return 0;
    *width = text.width;
    uint32_t most = WD_V8_NAME_BYTES / text.width, length = (text.length < most ? text.length : most) * text.width;
    if (length > WD_V8_CAPACITY - v8->bytes_used) {
        v8->v8.reading = WD_V8_CUT;
        return 0;
    }
    if (!wd_read_paged(arena, text.bytes, arena->v8_bytes + v8->bytes_used, length)) return 0;
    v8->bytes_used += length;
    return length;
}

/* The line of a position in a text; 0 if the text is not in one piece, or too long to be looked through. */
static int32_t find_line(struct wd_snapshot_arena *arena, uint64_t source, int32_t position) {
    struct wd_v8_runtime *v8 = &arena->v8;
    struct text text;
    int32_t line = 1;
    if (position < 0 || !find_text(arena, source, &text) || (uint32_t)position > text.length) return 0;
    uint64_t left = (uint64_t)position * text.width;
    if (left > most_source - v8->scanned) return 0;
    v8->scanned += left;
    for (uint64_t at = text.bytes; left > 0;) {
        size_t length = left < sizeof arena->scratch ? (size_t)left : sizeof arena->scratch;
        if (!wd_has_v8_time(arena) || wd_read_memory(arena, at, arena->scratch, length) != length) return 0;
        for (size_t i = 0; i < length; i += text.width)
            line += arena->scratch[i] == '\n' && (text.width == 1 || arena->scratch[i + 1] == 0);
        at += length;
        left -= length;
    }
    return line;
}

/* -- Functions -- */

/* The name of a function and where it begins in its script, as its scope has them; the order of both differs by version. */
struct scope {
    uint64_t name;
    int32_t position;
};

static struct scope read_scope(struct wd_snapshot_arena *arena, uint64_t object) {
    struct scope scope = {.position = -1};
    uint64_t head[5], words[scope_words];
    if (!read_field(arena, object, 8, head, sizeof head) || !is_number(head[1]) || !is_number(head[2])) return scope;
    int32_t variables = number(head[2]), first = 3;
    if (variables < 0 || variables > most_variables * 64) return scope;
    if (is_number(head[3]) && is_number(head[4]) && number(head[3]) >= 0 && number(head[3]) <= number(head[4])) {
        scope.position = number(head[3]);
        first = 5;
    }
    /* Their names and their kinds. */
    first += variables < most_variables ? 2 * variables : variables + 1;
    if (!read_field(arena, object, 8 + first * 8, words, sizeof words)) return scope;
    for (size_t i = 0; i < scope_words; i++) {
        struct text text;
        if (scope.name == 0 && i < 3 && find_text(arena, words[i], &text) && text.length > 0) scope.name = words[i];
        if (scope.position < 0 && i + 1 < scope_words && is_number(words[i]) && is_number(words[i + 1])
            && number(words[i]) >= 0 && number(words[i]) <= number(words[i + 1]))
            scope.position = number(words[i]);
    }
    return scope;
}

static void read_function(struct wd_snapshot_arena *arena, uint64_t shared, struct wd_v8_function_copy *copy) {
    uint64_t name, script, file = 0, source = 0;
    struct scope scope = {.position = -1};
    if (!read_field(arena, shared, arena->v8.layout.shared_scope, &name, sizeof name)
        || !read_field(arena, shared, arena->v8.layout.shared_script, &script, sizeof script))
        return;
    if (type_of(arena, name) == arena->v8.layout.scope_type) scope = read_scope(arena, name);
    else scope.name = name;
    if (type_of(arena, script) == arena->v8.layout.script_type) {
        read_field(arena, script, arena->v8.layout.script_name, &file, sizeof file);
        read_field(arena, script, arena->v8.layout.script_source, &source, sizeof source);
    }
    copy->function.name_length = copy_text(arena, scope.name, &copy->function.name_kind);
    copy->function.file_length = copy_text(arena, file, &copy->function.file_kind);
    if (copy->function.file_length > 0) copy->function.line = find_line(arena, source, scope.position);
}

uint32_t wd_copy_v8_function(struct wd_snapshot_arena *arena, uint64_t function) {
    struct wd_v8_runtime *v8 = &arena->v8;
    uint64_t shared;
    int32_t type = type_of(arena, function);
    if (type < v8->layout.function_type || type >= v8->layout.function_type + function_types
        || !read_field(arena, function, v8->layout.function_shared, &shared, sizeof shared)
        || type_of(arena, shared) != v8->layout.shared_type)
        return UINT32_MAX;
    size_t place = (size_t)((shared * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - slot_bits));
    for (uint16_t index; (index = arena->v8_slots[place]) != 0; place = (place + 1) % WD_V8_SLOTS)
        if (arena->v8_functions[index - 1].address == shared) return index - 1u;
    if (v8->function_count == WD_V8_MAX_FUNCTIONS) {
        v8->v8.reading = WD_V8_CUT;
        return UINT32_MAX;
    }
    struct wd_v8_function_copy *copy = &arena->v8_functions[v8->function_count++];
    *copy = (struct wd_v8_function_copy){
        .address = shared, .function = {.name_kind = 1, .file_kind = 1}, .offset = v8->bytes_used};
    read_function(arena, shared, copy);
    arena->v8_slots[place] = (uint16_t)v8->function_count;
    return (uint32_t)v8->function_count - 1;
}
