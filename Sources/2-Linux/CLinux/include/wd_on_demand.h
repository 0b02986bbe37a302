/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a library when the first of its functions is called. A C file of another target defines LIBRARY, the file's name, and
 * FUNCTIONS(F, N), its functions as F(type of the result, name, parameters, arguments), or as N(…) without a result; then it
 * includes this. The compiler compares each line with the library's own declaration.
 */
#pragma once
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* Hidden: calls within the library must not come here. */
#define HIDDEN __attribute__((visibility("hidden")))

#define DECLARE(result, name, parameters, arguments) static result(*found_##name) parameters;
FUNCTIONS(DECLARE, DECLARE)

/* As the dynamic linker ends a program whose library is missing: ld.so(8). */
static _Noreturn void fail(void)
{
    const char *reason = dlerror();
    fprintf(stderr, "watchdogd: %s\n", reason ? reason : LIBRARY " cannot be loaded");
    _exit(127);
}

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail();
#define FIND(result, name, parameters, arguments) \
    found_##name = (result(*) parameters)dlsym(library, #name); \
    if (!found_##name) \
        fail();
    FUNCTIONS(FIND, FIND)
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

#define DEFINE(result, name, parameters, arguments) \
    HIDDEN result name parameters { pthread_once(&once, load); return found_##name arguments; }
#define DEFINE_WITHOUT_RESULT(result, name, parameters, arguments) \
    HIDDEN result name parameters { pthread_once(&once, load); found_##name arguments; }
FUNCTIONS(DEFINE, DEFINE_WITHOUT_RESULT)
