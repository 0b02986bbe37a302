/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits with a time limit on the monotonic clock, which POSIX does not support: for a thread's end, for a semaphore.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/* Waits for a thread to end, until CLOCK_MONOTONIC reaches `deadline` nanoseconds.
 *
 * Returns 0 if the thread was joined, or ETIMEDOUT if it has not ended by then; it can still be joined or detached. */
int wd_thread_join(pthread_t thread, int64_t deadline);

/* Waits until the semaphore's value is positive, and decrements it, or until CLOCK_MONOTONIC reaches `deadline` nanoseconds.
 *
 * Returns 0 if it was decremented, or ETIMEDOUT. */
int wd_semaphore_wait(sem_t *semaphore, int64_t deadline);
