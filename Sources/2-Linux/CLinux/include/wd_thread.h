/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins a thread with a time limit, which POSIX does not support.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

/* Waits for a thread to end, until CLOCK_MONOTONIC reaches `deadline` nanoseconds.
 *
 * Returns 0 if the thread was joined, or ETIMEDOUT if it has not ended by then; it can still be joined or detached. */
int wd_thread_join(pthread_t thread, int64_t deadline);
