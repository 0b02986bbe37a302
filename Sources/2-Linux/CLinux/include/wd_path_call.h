/* SPDX-License-Identifier: Apache-2.0
 *
 * Which arguments of a system call are paths. A file system that does not answer holds up any of these calls.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { WD_NO_ARGUMENT = -1 };

/* Indices of arguments; WD_NO_ARGUMENT where a call has none. */
struct wd_path_call {
    int8_t path;
    int8_t directory;       /* a descriptor, or AT_FDCWD: a relative path begins there */
    int8_t other_path;      /* of calls that take two, such as rename(2) */
    int8_t other_directory;
};

/* The index of the flags of open(2) and openat(2); WD_NO_ARGUMENT for other calls. */
int8_t wd_open_flags(long number);

/* False for a call that takes no path. */
bool wd_find_path_call(long number, struct wd_path_call *found);
