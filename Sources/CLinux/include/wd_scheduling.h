/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduling of the calling thread. -1 with errno on failure.
 */
#pragma once
#include <stdbool.h>

/* SCHED_RR at a priority; processes and threads that this one creates are ordinary again: sched(7),
 * SCHED_RESET_ON_FORK. */
int wd_scheduling_set_real_time(int priority);

/* A nice value for this thread only, which its children do not inherit if it is negative. */
int wd_scheduling_set_niceness(int niceness);

/* This thread's nice value. */
int wd_scheduling_niceness(void);

/* Makes SIGXCPU, which the kernel sends at the soft RLIMIT_RTTIME and whose default is to kill, return the calling
 * thread to the ordinary policy. */
int wd_scheduling_demote_on_limit(void);

/* True once that has happened. */
bool wd_scheduling_was_demoted(void);
