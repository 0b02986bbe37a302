/* SPDX-License-Identifier: Apache-2.0
 *
 * Signal masks of the calling thread. In C, because in Swift sigset_t and timespec belong to the module whose headers were
 * read first, which differs between builds.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Adds signals to the calling thread's mask. */
void wd_signals_block(const int *signals, size_t count);

/* Waits for one of the signals, which are blocked, for at most so long. Whether one came; it is taken. */
bool wd_signals_wait(const int *signals, size_t count, int64_t nanoseconds);

/* tcsetpgrp(3), but SIGTTOU does not stop the caller. -1 with errno on failure. */
int wd_terminal_set_foreground(int terminal, pid_t group);
