/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops of the recorded process: ptrace(2). Only the thread that seized it may make these calls, because ptrace(2)
 * is per thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum wd_record_change {
    WD_RECORD_UNCHANGED,
    WD_RECORD_EXECUTED,   /* stopped at its execve(2) */
    WD_RECORD_SIGNALED,   /* stopped before a signal is delivered */
    WD_RECORD_SUSPENDED,  /* stopped by job control */
    WD_RECORD_INTERRUPTED, /* stopped by wd_record_interrupt, or continued by job control */
    WD_RECORD_EXITED,     /* and reaped; number: the exit code */
    WD_RECORD_KILLED,     /* and reaped; number: the signal */
};

/* A change of the process, and after its end its resource usage: getrusage(2). */
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

/* Checks for a change without waiting. may_reap: reaps the process if it has ended; otherwise it stays a zombie,
   which /proc still shows. */
int wd_record_wait(pid_t process, bool may_reap, struct wd_record_event_of_process *event);

/* Lets a stopped process continue, and delivers a signal (0: none). */
int wd_record_continue(pid_t process, int signal);

/* Leaves it stopped by job control (PTRACE_LISTEN). */
int wd_record_stay_suspended(pid_t process);

/* Requests a stop, which wd_record_wait reports. */
int wd_record_interrupt(pid_t process);

/* Stops tracing a stopped process. */
int wd_record_release(pid_t process, int signal);

/* Sets debug registers of a stopped process, at most 4, to stop before the instructions at these addresses; a count
 * of 0 clears them. ENOSYS on architectures other than x86-64. */
int wd_record_set_breakpoints(pid_t process, const uint64_t *addresses, int count);

/* The breakpoints that a process stopped by SIGTRAP has hit, as a bit set; 0: the program's own SIGTRAP. */
int wd_record_breakpoint_hit(pid_t process);
