/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of libdw and libelf that this project calls. They work once wd_elfutils_load() has returned NULL:
 * only the unwinding process loads these libraries.
 */
#pragma once
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Loads libdw.so.1, which depends on libelf. Returns NULL, or the text of dlerror(3). A process must call this
 * before it confines itself. */
const char *wd_elfutils_load(void);

/* The Swift runtime exports these without a header; the underscored ones may disappear, hence weak. */
extern char *_swift_backtrace_demangle(const char *name, size_t length, char *out, size_t *out_size)
    __attribute__((weak));
extern bool _swift_backtrace_isThunkFunction(const char *name) __attribute__((weak));
extern char *swift_demangle(const char *name, size_t length, char *out, size_t *out_size, uint32_t flags)
    __attribute__((weak));

/* The readable form of a Swift or C++ symbol, to be freed by the caller, or NULL for any other symbol. */
static inline char *wd_demangle(const char *name)
{
    if (_swift_backtrace_demangle)
        return _swift_backtrace_demangle(name, strlen(name), NULL, NULL);
    return swift_demangle ? swift_demangle(name, strlen(name), NULL, NULL, 0) : NULL;
}

/* True for a Swift symbol that only converts a call from one convention to another. */
static inline bool wd_is_thunk(const char *name)
{
    return _swift_backtrace_isThunkFunction && _swift_backtrace_isThunkFunction(name);
}
