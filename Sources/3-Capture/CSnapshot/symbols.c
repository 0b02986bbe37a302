/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a symbol's address in the dynamic symbol table of an image in the target's memory. The table is untrusted:
 * every number is bounded, and addresses are used only to read the target.
 */
#include "internal.h"

#include <elf.h>
#include <string.h>

enum { most_headers = 64, most_dynamic = 256, most_chain = 256, most_name = 96 };

struct tables {
    uint64_t hash, old_hash, symbols, strings; /* either of the first two may be 0 */
};

/* Finds the load bias of an image and the address of its dynamic section. */
static bool find_dynamic(struct wd_snapshot_arena *arena, uint64_t image, uint64_t *bias, uint64_t *dynamic,
                         size_t *count) {
    Elf64_Ehdr header;
    Elf64_Phdr programs[most_headers];
    if (!wd_read_paged(arena, image, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0
        || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof programs[0]
        || header.e_phnum > most_headers
        || !wd_read_paged(arena, image + header.e_phoff, programs, header.e_phnum * sizeof programs[0]))
        return false;
    bool loaded = false;
    *dynamic = 0;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (programs[i].p_type == PT_LOAD && programs[i].p_offset == 0 && !loaded) {
            *bias = image - (programs[i].p_vaddr & ~UINT64_C(4095));
            loaded = true;
        }
        if (programs[i].p_type != PT_DYNAMIC) continue;
        *dynamic = programs[i].p_vaddr;
        *count = (size_t)(programs[i].p_memsz / sizeof(Elf64_Dyn));
    }
    if (!loaded || *dynamic == 0) return false;
    *dynamic += *bias;
    if (*count > most_dynamic) *count = most_dynamic;
    return true;
}

/* glibc relocates these addresses in place, musl does not. */
static uint64_t relocated(uint64_t value, uint64_t image, uint64_t bias) {
    return value < image ? value + bias : value;
}

static bool find_tables(struct wd_snapshot_arena *arena, uint64_t image, uint64_t *bias, struct tables *tables) {
    uint64_t dynamic;
    size_t count;
    Elf64_Dyn entries[most_dynamic];
    if (!find_dynamic(arena, image, bias, &dynamic, &count)) return false;
    size_t length = wd_read_memory(arena, dynamic, entries, count * sizeof entries[0]);
    memset(tables, 0, sizeof *tables);
    for (size_t i = 0; i < length / sizeof entries[0] && entries[i].d_tag != DT_NULL; i++) {
        uint64_t address = relocated(entries[i].d_un.d_ptr, image, *bias);
        if (entries[i].d_tag == DT_GNU_HASH) tables->hash = address;
        if (entries[i].d_tag == DT_HASH) tables->old_hash = address;
        if (entries[i].d_tag == DT_SYMTAB) tables->symbols = address;
        if (entries[i].d_tag == DT_STRTAB) tables->strings = address;
    }
    return (tables->hash != 0 || tables->old_hash != 0) && tables->symbols != 0 && tables->strings != 0;
}

static bool is_named(struct wd_snapshot_arena *arena, uint64_t address, const char *name) {
    char text[most_name];
    size_t length = strlen(name) + 1;
    return length <= sizeof text && wd_read_paged(arena, address, text, length) && memcmp(text, name, length) == 0;
}

/* Reads a symbol if it is defined and has this name. */
static bool read_symbol(struct wd_snapshot_arena *arena, const struct tables *tables, uint32_t index, const char *name,
                        Elf64_Sym *symbol) {
    return wd_read_paged(arena, tables->symbols + (uint64_t)index * sizeof *symbol, symbol, sizeof *symbol)
           && symbol->st_shndx != SHN_UNDEF && is_named(arena, tables->strings + symbol->st_name, name);
}

/* The layout of GNU's table: https://flapenguin.me/elf-dt-gnu-hash and bfd/elflink.c of GNU binutils. */
static bool find_by_hash(struct wd_snapshot_arena *arena, const struct tables *tables, const char *name, Elf64_Sym *symbol) {
    uint32_t header[4]; /* buckets, first symbol, words of the filter, shift */
    if (!wd_read_paged(arena, tables->hash, header, sizeof header) || header[0] == 0) return false;
    uint32_t hash = 5381, index, word;
    for (const unsigned char *byte = (const unsigned char *)name; *byte != 0; byte++) hash = hash * 33 + *byte;
    uint64_t buckets = tables->hash + sizeof header + (uint64_t)header[2] * 8;
    uint64_t chains = buckets + (uint64_t)header[0] * 4;
    if (!wd_read_paged(arena, buckets + (uint64_t)(hash % header[0]) * 4, &index, sizeof index) || index < header[1])
        return false;
    for (int step = 0; step < most_chain; step++, index++) {
        if (!wd_read_paged(arena, chains + (uint64_t)(index - header[1]) * 4, &word, sizeof word)) return false;
        if ((word | 1) == (hash | 1) && read_symbol(arena, tables, index, name, symbol)) return true;
        if (word & 1) return false;
    }
    return false;
}

/* The System V table, which linkers made before there was the other one: elf(5). */
static bool find_by_old_hash(struct wd_snapshot_arena *arena, const struct tables *tables, const char *name,
                             Elf64_Sym *symbol) {
    uint32_t header[2], hash = 0, index; /* buckets, symbols */
    if (!wd_read_paged(arena, tables->old_hash, header, sizeof header) || header[0] == 0) return false;
    for (const unsigned char *byte = (const unsigned char *)name; *byte != 0; byte++) {
        hash = (hash << 4) + *byte;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    uint64_t next = tables->old_hash + sizeof header + (uint64_t)(hash % header[0]) * 4;
    uint64_t chains = tables->old_hash + sizeof header + (uint64_t)header[0] * 4;
    for (int step = 0; step < most_chain; step++, next = chains + (uint64_t)index * 4) {
        if (!wd_read_paged(arena, next, &index, sizeof index) || index == 0 || index >= header[1]) return false;
        if (read_symbol(arena, tables, index, name, symbol)) return true;
    }
    return false;
}

/* The run-time address of a symbol that the image at this address defines; 0 if it defines none of this name. */
uint64_t wd_find_symbol(struct wd_snapshot_arena *arena, uint64_t image, const char *name, uint64_t *length) {
    struct tables tables;
    uint64_t bias;
    Elf64_Sym symbol;
    if (!find_tables(arena, image, &bias, &tables)
        || !(tables.hash != 0 ? find_by_hash(arena, &tables, name, &symbol)
                              : find_by_old_hash(arena, &tables, name, &symbol)))
        return 0;
    if (length != NULL) *length = symbol.st_size;
    return symbol.st_value + bias;
}
