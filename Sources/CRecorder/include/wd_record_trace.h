/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops of the recorded process: ptrace(2). All calls come from the thread that seized it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum wd_record_change {
    WD_RECORD_UNCHANGED,
    WD_RECORD_EXECUTED,   /* stopped in its execve(2) */
    WD_RECORD_SIGNALED,   /* stopped before a signal is delivered */
    WD_RECORD_SUSPENDED,  /* stopped by job control */
    WD_RECORD_INTERRUPTED, /* stopped by wd_record_interrupt, or continued by job control */
    WD_RECORD_EXITED,     /* and reaped; number: the exit code */
    WD_RECORD_KILLED,     /* and reaped; number: the signal */
};

/* What happened to the process, and once it is reaped, what it used: getrusage(2). */
struct wd_record_event_of_process {
    enum wd_record_change change;
    int number;
    int64_t user_microseconds;
    int64_t system_microseconds;
    int64_t max_resident_kilobytes;
    int64_t major_faults;
    int64_t minor_faults;
    int64_t blocks_read; /* of 512 bytes */
};

/* Traces the process from now on; it stops at each execve(2). It continues untraced if this process exits. */
int wd_record_seize(pid_t process);

/* Checks for a change without waiting. may_reap: whether its end counts; without, it stays a zombie, which /proc shows. */
int wd_record_wait(pid_t process, bool may_reap, struct wd_record_event_of_process *event);

/* Lets a stopped process continue, and delivers a signal (0: none). */
int wd_record_continue(pid_t process, int signal);

/* Leaves it suspended by job control. */
int wd_record_stay_suspended(pid_t process);

/* Stops it soon. */
int wd_record_interrupt(pid_t process);

/* Stops tracing a stopped process. */
int wd_record_release(pid_t process, int signal);

/* Sets debug registers of a stopped process, at most 4, to stop before the instructions there; 0 of them clears all.
 * ENOSYS on architectures other than x86-64. */
int wd_record_set_breakpoints(pid_t process, const uint64_t *addresses, int count);

/* Which of them a process stopped by SIGTRAP is at, as a set of bits; 0: the signal is the program's own. */
int wd_record_breakpoint_hit(pid_t process);
