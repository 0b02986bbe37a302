/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduling of the calling thread. -1 with errno on failure.
 */
#pragma once
#include <stdbool.h>

/* The real-time priority of watchdogd's threads and processes that must not wait for a CPU. Threads of apps that a
 * capture is stopping have 1. */
enum { WD_PRECEDENCE = 2 };

/* Sets SCHED_RR with a priority; processes and threads that this one creates are ordinary again: sched(7),
 * SCHED_RESET_ON_FORK. */
int wd_scheduling_set_real_time(int priority);

/* Sets a nice value for this thread only; its children do not inherit a negative one. */
int wd_scheduling_set_niceness(int niceness);

/* The nice value of this thread. */
int wd_scheduling_niceness(void);

/* Makes SIGXCPU return the calling thread to the ordinary policy. The kernel sends this signal at the soft
 * RLIMIT_RTTIME; its default action kills the process. */
int wd_scheduling_demote_on_limit(void);

/* Whether that has happened. */
bool wd_scheduling_was_demoted(void);
