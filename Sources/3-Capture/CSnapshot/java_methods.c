/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of Java: their names, their lines, and those that a compiler has put together. HotSpot's structures are
 * untrusted: each is copied by bounded reads, because its address may be garbage.
 */
#include "internal.h"

#include <string.h>

enum {
    has_lines = 1,      /* ConstMethod's flag, of all versions */
    line_bytes = 4096,  /* of a table of lines */
    scope_bytes = 16,   /* of the three numbers of a scope, at most */
    place_bytes = 16,   /* sizeof PcDesc: its first two fields are the offsets of the code and of the scope */
    most_places = 1 << 20,
    limit = 192,        /* a byte from here on is followed by another one: unsigned5.hpp */
    slot_bits = 13,
};
_Static_assert(WD_JAVA_SLOTS == 1 << slot_bits, "the hash has as many bits");

static uint32_t half(const uint8_t *bytes, uint64_t offset) {
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* A number of HotSpot's packed format, which has no zero bytes since version 20. */
static uint32_t unpack(const struct wd_java_runtime *java, const uint8_t *bytes, size_t length, size_t *at) {
    uint32_t excluded = java->java.version >= 20, sum = 0;
    for (uint32_t shift = 0; shift <= 24 && *at < length; shift += 6) {
        uint32_t byte = bytes[(*at)++];
        sum += (byte - excluded) << shift;
        if (byte < limit) break;
    }
    return sum;
}

static int32_t unpack_signed(const struct wd_java_runtime *java, const uint8_t *bytes, size_t length, size_t *at) {
    uint32_t value = unpack(java, bytes, length, at);
    return (int32_t)(value >> 1 ^ (0 - (value & 1)));
}

/* -- Methods -- */

/* Copies the text of a Symbol; its length in bytes. */
static uint32_t copy_text(struct wd_snapshot_arena *arena, uint64_t symbol) {
    struct wd_java_runtime *java = &arena->java;
    uint16_t length;
    if (symbol == 0 || !wd_read_paged(arena, symbol + java->layout.symbol_length, &length, sizeof length)) return 0;
    if (length > WD_JAVA_NAME_BYTES) length = WD_JAVA_NAME_BYTES;
    if (length > WD_JAVA_CAPACITY - java->bytes_used) {
        java->java.reading = WD_JAVA_CUT;
        return 0;
    }
    if (!wd_read_paged(arena, symbol + java->layout.symbol_body, arena->java_bytes + java->bytes_used, length)) return 0;
    java->bytes_used += length;
    return length;
}

/* Copies the text to which an entry of a pool of constants refers. */
static uint32_t copy_constant(struct wd_snapshot_arena *arena, uint64_t pool, uint16_t index) {
    uint64_t symbol;
    if (index == 0 || !wd_read_paged(arena, pool + arena->java.layout.constant_pool_size + index * sizeof symbol, &symbol, sizeof symbol))
        return 0;
    return copy_text(arena, symbol);
}

static uint16_t file_index(struct wd_snapshot_arena *arena, uint64_t pool, uint64_t holder) {
    const struct wd_java_layout *layout = &arena->java.layout;
    uint16_t index = 0;
    if (layout->pool_file != WD_JAVA_ABSENT) wd_read_paged(arena, pool + layout->pool_file, &index, sizeof index);
    else if (layout->klass_file != WD_JAVA_ABSENT) wd_read_paged(arena, holder + layout->klass_file, &index, sizeof index);
    return index;
}

static bool read_method(struct wd_snapshot_arena *arena, struct wd_java_method_copy *copy) {
    const struct wd_java_layout *layout = &arena->java.layout;
    uint64_t constants, pool, holder, name;
    uint16_t code_size, name_index;
    if (!wd_read_paged(arena, copy->address + layout->method_const, &constants, sizeof constants)
        || !wd_read_paged(arena, constants + layout->const_pool, &pool, sizeof pool)
        || !wd_read_paged(arena, constants + layout->const_code_size, &code_size, sizeof code_size)
        || !wd_read_paged(arena, constants + layout->const_name, &name_index, sizeof name_index)
        || !wd_read_paged(arena, pool + layout->pool_holder, &holder, sizeof holder)
        || !wd_read_paged(arena, holder + layout->klass_name, &name, sizeof name))
        return false;
    copy->constants = constants;
    copy->code = constants + layout->const_method_size;
    copy->code_size = code_size;
    copy->offset = arena->java.bytes_used;
    copy->method.class_length = copy_text(arena, name);
    copy->method.name_length = copy_constant(arena, pool, name_index);
    if (copy->method.class_length == 0 || copy->method.name_length == 0) return false;
    copy->method.file_length = copy_constant(arena, pool, file_index(arena, pool, holder));
    return true;
}

uint32_t wd_copy_java_method(struct wd_snapshot_arena *arena, uint64_t address) {
    struct wd_java_runtime *java = &arena->java;
    size_t place = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - slot_bits));
    for (uint16_t index; (index = arena->java_slots[place]) != 0; place = (place + 1) % WD_JAVA_SLOTS)
        if (arena->java_methods[index - 1].address == address) return index - 1u;
    if (java->method_count == WD_JAVA_MAX_METHODS) {
        java->java.reading = WD_JAVA_CUT;
        return UINT32_MAX;
    }
    struct wd_java_method_copy *copy = &arena->java_methods[java->method_count];
    *copy = (struct wd_java_method_copy){.address = address};
    if (!read_method(arena, copy)) {
        /* Names of others are confidential, too. */
        if (copy->offset != 0) {
            explicit_bzero(arena->java_bytes + copy->offset, java->bytes_used - copy->offset);
            java->bytes_used = copy->offset;
        }
        return UINT32_MAX;
    }
    java->method_count++;
    arena->java_slots[place] = (uint16_t)java->method_count;
    return (uint32_t)java->method_count - 1;
}

/* The table of lines follows the bytecode: pairs of differences, most of them in one byte. */
int32_t wd_find_java_line(struct wd_snapshot_arena *arena, uint32_t method, int32_t instruction) {
    const struct wd_java_layout *layout = &arena->java.layout;
    const struct wd_java_method_copy *copy = &arena->java_methods[method];
    uint64_t flags_offset = layout->const_flags != WD_JAVA_ABSENT ? layout->const_flags : layout->const_flags_since_20;
    uint16_t flags;
    if (flags_offset == WD_JAVA_ABSENT || !wd_read_paged(arena, copy->constants + flags_offset, &flags, sizeof flags)
        || !(flags & has_lines))
        return 0;
    uint8_t *table = (uint8_t *)arena->scratch;
    size_t length = line_bytes, at = 0;
    /* The table may end near the end of what is mapped. */
    while (length > 0 && !wd_read_paged(arena, copy->code + copy->code_size, table, length)) length /= 2;
    int64_t line = 0, found = 0, place = 0;
    if (instruction < 0) instruction = 0;
    while (at < length && table[at] != 0) {
        uint8_t byte = table[at++];
        if (byte == 0xff) {
            place += unpack_signed(&arena->java, table, length, &at);
            line += unpack_signed(&arena->java, table, length, &at);
        } else {
            place += byte >> 3;
            line += byte & 7;
        }
        if (place > instruction) break;
        found = line;
    }
    return found > 0 && found <= UINT16_MAX ? (int32_t)found : 0;
}

/* -- What a compiler has put together -- */

/* Where the tables of compiled code are; false if this version does not say it. */
struct tables {
    uint64_t places, places_end, scopes, metadata;
};

static bool find_tables(struct wd_snapshot_arena *arena, struct tables *tables) {
    const struct wd_java_runtime *java = &arena->java;
    const struct wd_java_layout *layout = &java->layout;
    const uint8_t *blob = java->blob;
    if (layout->places_offset == WD_JAVA_ABSENT) return false;
    uint32_t places = half(blob, layout->places_offset);
    if (layout->immutable != WD_JAVA_ABSENT) {
        if (layout->scopes_offset == WD_JAVA_ABSENT || layout->blob_mutable == WD_JAVA_ABSENT
            || layout->blob_relocation == WD_JAVA_ABSENT)
            return false;
        uint64_t immutable = wd_word(blob, layout->immutable);
        tables->places = immutable + places;
        tables->places_end = tables->scopes = immutable + half(blob, layout->scopes_offset);
        tables->metadata = wd_word(blob, layout->blob_mutable) + ((half(blob, layout->blob_relocation) + 7u) & ~7u);
        return true;
    }
    if (layout->places_end_offset == WD_JAVA_ABSENT || layout->metadata_offset == WD_JAVA_ABSENT
        || layout->scopes == WD_JAVA_ABSENT)
        return false;
    tables->places = java->blob_address + places;
    tables->places_end = java->blob_address + half(blob, layout->places_end_offset);
    tables->scopes = wd_word(blob, layout->scopes);
    tables->metadata = java->blob_address + half(blob, layout->metadata_offset);
    return true;
}

/* The offset of the scope at a place of the code. After a call, it is the place itself; anywhere else the next one. */
static uint32_t find_scope(struct wd_snapshot_arena *arena, const struct tables *tables, uint64_t offset, bool is_call) {
    uint64_t low = 0, high = (tables->places_end - tables->places) / place_bytes;
    uint32_t entry[2] = {0};
    if (tables->places_end < tables->places || high > most_places) return 0;
    uint64_t count = high;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (!wd_read_paged(arena, tables->places + middle * place_bytes, entry, sizeof entry)) return 0;
        if ((int32_t)entry[0] < (int64_t)offset) low = middle + 1;
        else high = middle;
    }
    if (low == count || !wd_read_paged(arena, tables->places + low * place_bytes, entry, sizeof entry)
        || (is_call && entry[0] != offset))
        return 0;
    return entry[1];
}

size_t wd_read_java_scopes(struct wd_snapshot_arena *arena, uint64_t pc, bool is_call, struct wd_java_place *places,
                           size_t room) {
    const struct wd_java_runtime *java = &arena->java;
    const struct wd_java_layout *layout = &java->layout;
    uint64_t field = layout->compiled_method != WD_JAVA_ABSENT ? layout->compiled_method : layout->compiled_method_before_23;
    if (field == WD_JAVA_ABSENT || room == 0) return 0;
    const struct wd_java_place whole = {.method = wd_word(java->blob, field), .instruction = -1};
    struct tables tables;
    size_t count = 0;
    uint32_t offset = find_tables(arena, &tables) ? find_scope(arena, &tables, pc - java->blob_code, is_call) : 0;
    while (offset != 0 && count < room) {
        uint8_t bytes[scope_bytes];
        uint64_t method;
        size_t at = 0, length = wd_read_paged(arena, tables.scopes + offset, bytes, sizeof bytes) ? sizeof bytes : 0;
        uint32_t sender = unpack(java, bytes, length, &at), index = unpack(java, bytes, length, &at);
        int32_t instruction = (int32_t)(unpack(java, bytes, length, &at) - 1);
        if (index == 0 || sender >= offset || !wd_read_paged(arena, tables.metadata + (index - 1) * sizeof method, &method, sizeof method))
            break;
        places[count++] = (struct wd_java_place){.method = method, .instruction = instruction};
        offset = sender;
    }
    /* The outermost is the method itself: tables that say otherwise have another form than those of known versions. */
    if (offset == 0 && count > 0 && places[count - 1].method == whole.method) return count;
    places[0] = whole;
    return 1;
}
