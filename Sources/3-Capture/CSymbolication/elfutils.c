/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor and the unwinder are one executable. If it listed these libraries as DT_NEEDED, each start of the
 * supervisor would load them. The compiler checks each line against elfutils' own declaration.
 */
#include "CElfutils.h"

#include <dlfcn.h>

/* Hidden: libdw's own calls to libelf must not resolve to these. */
#define HIDDEN __attribute__((visibility("hidden")))

/* F(type of the result, name, parameters, arguments) */
#define FUNCTIONS(F) \
    F(Dwarf_Attribute *, dwarf_attr, (Dwarf_Die *die, unsigned name, Dwarf_Attribute *result), (die, name, result)) \
    F(Dwarf_Attribute *, dwarf_attr_integrate, (Dwarf_Die *die, unsigned name, Dwarf_Attribute *result), (die, \
      name, result)) \
    F(int, dwarf_cfi_addrframe, (Dwarf_CFI *cfi, Dwarf_Addr address, Dwarf_Frame **frame), (cfi, address, frame)) \
    F(int, dwarf_child, (Dwarf_Die *die, Dwarf_Die *result), (die, result)) \
    F(int, dwarf_cu_info, (Dwarf_CU *unit, Dwarf_Half *version, uint8_t *type, Dwarf_Die *die, Dwarf_Die *sub, \
      uint64_t *id, uint8_t *address, uint8_t *offset), (unit, version, type, die, sub, id, address, offset)) \
    F(const char *, dwarf_filesrc, (Dwarf_Files *files, size_t index, Dwarf_Word *time, Dwarf_Word *size), (files, \
      index, time, size)) \
    F(const char *, dwarf_formstring, (Dwarf_Attribute *attribute), (attribute)) \
    F(int, dwarf_formudata, (Dwarf_Attribute *attribute, Dwarf_Word *value), (attribute, value)) \
    F(int, dwarf_frame_cfa, (Dwarf_Frame *frame, Dwarf_Op **operations, size_t *count), (frame, operations, count)) \
    F(int, dwarf_frame_info, (Dwarf_Frame *frame, Dwarf_Addr *start, Dwarf_Addr *end, bool *signal), (frame, \
      start, end, signal)) \
    F(int, dwarf_frame_register, (Dwarf_Frame *frame, int number, Dwarf_Op memory[3], Dwarf_Op **operations, \
      size_t *count), (frame, number, memory, operations, count)) \
    F(Dwarf_Line *, dwarf_getsrc_die, (Dwarf_Die *die, Dwarf_Addr address), (die, address)) \
    F(int, dwarf_getsrcfiles, (Dwarf_Die *die, Dwarf_Files **files, size_t *count), (die, files, count)) \
    F(int, dwarf_hasattr, (Dwarf_Die *die, unsigned name), (die, name)) \
    F(int, dwarf_haspc, (Dwarf_Die *die, Dwarf_Addr address), (die, address)) \
    F(int, dwarf_lineno, (Dwarf_Line *line, int *number), (line, number)) \
    F(const char *, dwarf_linesrc, (Dwarf_Line *line, Dwarf_Word *time, Dwarf_Word *size), (line, time, size)) \
    F(int, dwarf_nextcu, (Dwarf *dwarf, Dwarf_Off offset, Dwarf_Off *next, size_t *header, Dwarf_Off \
      *abbreviations, uint8_t *address, uint8_t *width), (dwarf, offset, next, header, abbreviations, address, \
      width)) \
    F(Dwarf_Die *, dwarf_offdie, (Dwarf *dwarf, Dwarf_Off offset, Dwarf_Die *result), (dwarf, offset, result)) \
    F(ptrdiff_t, dwarf_ranges, (Dwarf_Die *die, ptrdiff_t offset, Dwarf_Addr *base, Dwarf_Addr *start, Dwarf_Addr \
      *end), (die, offset, base, start, end)) \
    F(int, dwarf_siblingof, (Dwarf_Die *die, Dwarf_Die *result), (die, result)) \
    F(int, dwarf_tag, (Dwarf_Die *die), (die)) \
    F(Dwfl *, dwfl_begin, (const Dwfl_Callbacks *callbacks), (callbacks)) \
    F(void, dwfl_end, (Dwfl *session), (session)) \
    F(Dwarf_CFI *, dwfl_module_dwarf_cfi, (Dwfl_Module *module, Dwarf_Addr *bias), (module, bias)) \
    F(Dwarf_CFI *, dwfl_module_eh_cfi, (Dwfl_Module *module, Dwarf_Addr *bias), (module, bias)) \
    F(Dwarf *, dwfl_module_getdwarf, (Dwfl_Module *module, Dwarf_Addr *bias), (module, bias)) \
    F(Elf *, dwfl_module_getelf, (Dwfl_Module *module, GElf_Addr *bias), (module, bias)) \
    F(const char *, dwfl_module_getsym_info, (Dwfl_Module *module, int index, GElf_Sym *symbol, GElf_Addr \
      *address, GElf_Word *section, Elf **elf, Dwarf_Addr *bias), (module, index, symbol, address, section, elf, \
      bias)) \
    F(int, dwfl_module_getsymtab, (Dwfl_Module *module), (module)) \
    F(const char *, dwfl_module_info, (Dwfl_Module *module, void ***data, Dwarf_Addr *start, Dwarf_Addr *end, \
      Dwarf_Addr *dwarf_bias, Dwarf_Addr *symbol_bias, const char **file, const char **debug), (module, data, start, \
      end, dwarf_bias, symbol_bias, file, debug)) \
    F(void, dwfl_report_begin, (Dwfl *session), (session)) \
    F(int, dwfl_report_end, (Dwfl *session, int (*removed)(Dwfl_Module *, void *, const char *, Dwarf_Addr, void \
      *), void *data), (session, removed, data)) \
    F(Dwfl_Module *, dwfl_report_module, (Dwfl *session, const char *name, Dwarf_Addr start, Dwarf_Addr end), \
      (session, name, start, end)) \
    F(int, dwfl_standard_find_debuginfo, (Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, \
      const char *file, const char *link, GElf_Word checksum, char **found), (module, data, name, base, file, link, \
      checksum, found)) \
    F(Elf *, elf_memory, (char *image, size_t size), (image, size)) \
    F(unsigned, elf_version, (unsigned version), (version))

#define DEFINE(result, name, parameters, arguments) \
    static result(*found_##name) parameters; \
    HIDDEN result name parameters { return found_##name arguments; }
FUNCTIONS(DEFINE)

#define FIND(result, name, parameters, arguments) \
    found_##name = (result(*) parameters)dlsym(library, #name); \
    if (!found_##name) \
        return dlerror();

const char *wd_elfutils_load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    /* dlsym(3) also searches the dependencies of this library: libelf. */
    FUNCTIONS(FIND)
    return NULL;
}
