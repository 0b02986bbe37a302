/* SPDX-License-Identifier: Apache-2.0
 *
 * Signal masks of the calling thread. In C, because in Swift sigset_t belongs to the module whose headers were read
 * first, which differs between debug and release builds.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Adds signals to the calling thread's mask. */
void wd_signals_block(const int *signals, size_t count);

/* tcsetpgrp(3), but SIGTTOU does not stop the caller. -1 with errno on failure. */
int wd_terminal_set_foreground(int terminal, pid_t group);
