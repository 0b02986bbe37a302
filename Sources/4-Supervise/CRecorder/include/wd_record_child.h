/* SPDX-License-Identifier: Apache-2.0
 *
 * A child that waits before its execve(2), so that events can be opened for it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wd_record_child {
    pid_t pid;
    int pidfd;
    int gate;   /* write end: a byte makes the child execute the program */
    int status; /* read end: end of file after a successful execve, or the errno of a failed one as an int */
};

/* Creates the child, in this process's group, session and directory, with its descriptors 0 to 2. The child waits
 * for a byte from the gate, and exits if the gate is closed.
 *
 * path, arguments (ends with NULL) and environment (ends with NULL) must stay unchanged during this call only.
 * arguments is preceded by one writable entry. runs_by_shell: /bin/sh runs the file if execve fails with ENOEXEC.
 * inherited: one more close-on-exec descriptor, which the program inherits under the same number; -1: none. No
 * signal is blocked in the program, and SIGPIPE has its default action. */
int wd_record_child_hold(const char *path, char **arguments, char *const *environment, bool runs_by_shell, int inherited,
                         struct wd_record_child *child);

/* Whether a file grants capabilities on execve: capabilities(7), "File capabilities". */
bool wd_record_has_capabilities(const char *path);

/* SIGCHLD and the signals that ask this process to exit, as a nonblocking signalfd(2); blocks them in the calling
   thread. */
int wd_record_signals(void);

/* The next signal; 0 without one. from_kernel: whether the kernel sent it, such as SIGINT for ^C. */
int wd_record_next_signal(int descriptor, bool *from_kernel);

/* Whether a descriptor of the process is a listening socket, checked on a duplicate: pidfd_getfd(2), Linux 5.6. The
 * caller needs the right to trace the process. 1, 0, or -1 with errno. */
int wd_record_is_listening(int pidfd, int descriptor);

/* Makes a child do the last close of these descriptors: that of a tracepoint waits for RCU grace periods, 20 to 80
 * ms each. Their rings must be unmapped. The descriptors are closed in this process. Returns a pidfd of the child,
 * with which the caller reaps it (its exit sends no signal), and sets *pid; -1 without a child. */
int wd_record_close_elsewhere(const int *descriptors, size_t count, pid_t *pid);
