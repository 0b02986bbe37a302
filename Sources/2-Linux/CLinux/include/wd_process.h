/* SPDX-License-Identifier: Apache-2.0
 *
 * Signaling and waiting for processes by pidfd. All functions return -1 with errno on failure.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* pidfd_open(2); the descriptor is close-on-exec. */
int wd_pidfd_open(pid_t pid);

/* A copy of a descriptor of another process, close-on-exec: pidfd_getfd(2), Linux 5.6. The caller needs the right to trace the
 * process. Closing the copy may be the file's last close, and take as long. */
int wd_copy_descriptor(pid_t process, int number);

/* pidfd_send_signal(2) without a siginfo. */
int wd_pidfd_send_signal(int pidfd, int signal);

/* Signals the process group that the process leads, even if the process itself was reaped: PIDFD_SIGNAL_PROCESS_GROUP,
 * pidfd_send_signal(2). Before Linux 6.9 the group is signaled by its number, provided that the process was not reaped
 * a moment before. */
int wd_pidfd_signal_group(int pidfd, pid_t leader, int signal);

enum wd_change { WD_CHANGE_NONE = 0, WD_CHANGE_EXITED, WD_CHANGE_KILLED, WD_CHANGE_DUMPED, WD_CHANGE_STOPPED,
                 WD_CHANGE_CONTINUED };

/* The result of waitid(2), with the resources used so far. */
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
    int64_t input_blocks; /* of 512 bytes, read from disks */
};

enum wd_wait_what { WD_WAIT_EXIT, WD_WAIT_STOP_OR_CONTINUE };

/* Checks for a change of a child, without waiting; change is WD_CHANGE_NONE if there is none. */
int wd_wait_pidfd(int pidfd, enum wd_wait_what what, struct wd_wait_result *result);

/* Reaps a child, even one whose exit sends no signal; waits until it exits if told to, however long that takes. 1, or 0 if it
 * has not exited. */
int wd_reap_pidfd(int pidfd, bool waits);

/* Reaps an exited child, without waiting. */
int wd_wait_pid(pid_t pid, struct wd_wait_result *result);

/* Finds any exited child, without reaping it and without waiting. */
int wd_peek_ended_child(struct wd_wait_result *result);

/* The same for a child that exited, was stopped or was continued. */
int wd_peek_changed_child(struct wd_wait_result *result);

/* Consumes such a change of one child, without waiting; an exited child is reaped. */
int wd_wait_pid_change(pid_t pid, struct wd_wait_result *result);

/* The wait status of an exited process that is not our child; the pidfd must have been opened before it was reaped.
 * ioctl PIDFD_GET_INFO, Linux 6.15; ENOTTY or EINVAL on older kernels, ENODATA if the kernel does not say. */
int wd_pidfd_exit_status(int pidfd, struct wd_wait_result *result);

/* The id of the cgroup, in the unified hierarchy, that an exited process was last in; -1 as above. */
int wd_pidfd_exit_cgroup(int pidfd, uint64_t *cgroup);

/* Whether this process has CAP_SETUID and CAP_SETGID, without which even root cannot become another user. */
bool wd_may_change_user(void);

/* PR_SET_CHILD_SUBREAPER and PR_GET_CHILD_SUBREAPER: prctl(2). */
int wd_set_child_subreaper(bool on);
int wd_get_child_subreaper(void);
