/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of descriptors that Swift's Glibc module does not support. All are close-on-exec; -1 with errno on failure.
 */
#pragma once
#include <stdint.h>

/* pipe2(2); flags in addition to O_CLOEXEC. */
int wd_pipe(int ends[2], int flags);

/* dup3(2) with O_CLOEXEC. */
int wd_duplicate_to(int source, int target);

/* A non-blocking counter: eventfd(2). */
int wd_eventfd(void);

/* Adds 1 to the counter, which wakes its reader; EAGAIN if it is full, which also wakes the reader. */
int wd_eventfd_signal(int descriptor);

/* Sets the counter to 0 and returns whether it was nonzero. */
int wd_eventfd_clear(int descriptor);

/* The open(2) flag for a descriptor that only refers to a file. */
extern const int wd_open_path;
