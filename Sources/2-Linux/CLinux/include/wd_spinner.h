/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that only compute. fork(2), prctl(2).
 */
#pragma once
#include <sys/types.h>

/* Forks a process that computes without a pause, with the ordinary scheduling policy and the nice value 0 if permitted,
 * in its own session and without descriptors. The kernel kills it when the calling thread ends. Returns its pid, or -1
 * with errno. */
pid_t wd_fork_spinner(void);
