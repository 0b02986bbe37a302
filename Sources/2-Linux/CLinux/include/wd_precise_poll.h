/* SPDX-License-Identifier: Apache-2.0
 *
 * poll(2) with a limit finer than a millisecond.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Waits at most that long, as ppoll(2) does without a signal mask; the result is that of ppoll. `entries` are of the type
 * struct pollfd, which belongs to the Glibc module and would clash if this header included it. */
int wd_precise_poll(void *entries, size_t count, int64_t nanoseconds);
