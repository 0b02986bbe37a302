/* SPDX-License-Identifier: Apache-2.0
 *
 * Being scheduled in time: sched(7).
 */
#pragma once
#include <stdint.h>

/* Puts the calling thread under SCHED_RR with the lowest priority and SCHED_RESET_ON_FORK, so that no child inherits it.
 * A thread that then runs for rttime_microseconds without blocking gets SIGXCPU (RLIMIT_RTTIME), and a handler drops it
 * to SCHED_OTHER: a loop that goes wrong must not take a CPU for ever. Returns 0, or -1 with errno. */
int wd_become_realtime(uint64_t rttime_microseconds);
