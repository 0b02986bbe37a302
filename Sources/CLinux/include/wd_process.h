/* SPDX-License-Identifier: Apache-2.0
 *
 * Signalling and waiting for processes by pidfd. All functions return -1 with errno on failure.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* pidfd_open(2); the descriptor is close-on-exec. */
int wd_pidfd_open(pid_t pid);

/* pidfd_send_signal(2) without a siginfo. */
int wd_pidfd_send_signal(int pidfd, int signal);

enum wd_change { WD_CHANGE_NONE = 0, WD_CHANGE_EXITED, WD_CHANGE_KILLED, WD_CHANGE_DUMPED, WD_CHANGE_STOPPED,
                 WD_CHANGE_CONTINUED };

/* What waitid(2) reported, with the resources used so far. */
struct wd_wait_result {
    enum wd_change change;
    pid_t pid;
    int status; /* exit code or signal */
    int64_t user_microseconds;
    int64_t system_microseconds;
    int64_t max_resident_kilobytes;
    int64_t major_faults;
    int64_t minor_faults;
    int64_t voluntary_switches;
    int64_t involuntary_switches;
};

enum wd_wait_what { WD_WAIT_EXIT, WD_WAIT_STOP_OR_CONTINUE };

/* Asks for a change of a child, without waiting; change is WD_CHANGE_NONE when there is none. */
int wd_wait_pidfd(int pidfd, enum wd_wait_what what, struct wd_wait_result *result);

/* Reaps a child that has ended, without waiting. */
int wd_wait_pid(pid_t pid, struct wd_wait_result *result);

/* Looks at any child that has ended, without reaping it and without waiting. */
int wd_peek_ended_child(struct wd_wait_result *result);

/* The same for a child that has ended, was stopped or was continued. */
int wd_peek_changed_child(struct wd_wait_result *result);

/* Takes such a change of one child, without waiting; an end is reaped. */
int wd_wait_pid_change(pid_t pid, struct wd_wait_result *result);

/* The wait status of a process that is not our child and has ended; pidfd opened before it was reaped. ioctl
 * PIDFD_GET_INFO, Linux 6.15; ENOTTY or EINVAL on older kernels, ENODATA if the kernel does not tell. */
int wd_pidfd_exit_status(int pidfd, struct wd_wait_result *result);

/* PR_SET_CHILD_SUBREAPER and PR_GET_CHILD_SUBREAPER: prctl(2). */
int wd_set_child_subreaper(bool on);
int wd_get_child_subreaper(void);
