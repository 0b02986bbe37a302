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
    int gate;   /* the child executes the program when it reads a byte from the other end */
    int status; /* at end of file, the program is executed; an int is the errno with which execve failed */
};

/* Creates the child, in this process's group, session and directory, with its descriptors 0 to 2. It waits until the gate
 * is written to, and exits if the gate is closed.
 *
 * path, arguments (ends with NULL) and environment (ends with NULL) must stay unchanged during this call only. arguments
 * is preceded by one writable entry. runs_by_shell: /bin/sh runs the file if the kernel answers ENOEXEC. inherited: one
 * more close-on-exec descriptor that the program gets under its number; -1: none. No signal is blocked in the program,
 * and SIGPIPE has its default action. */
int wd_record_child_hold(const char *path, char **arguments, char *const *environment, bool runs_by_shell, int inherited,
                         struct wd_record_child *child);

/* Whether a file gives capabilities to who executes it: capabilities(7), "File capabilities". */
bool wd_record_has_capabilities(const char *path);

/* SIGCHLD and the signals that ask this process to exit, as a nonblocking signalfd(2); they are blocked from then on. */
int wd_record_signals(void);

/* The next signal; 0 if there is none. from_kernel: whether the kernel sent it, such as for a key of the terminal. */
int wd_record_next_signal(int descriptor, bool *from_kernel);

/* Whether a descriptor of the process is a listening socket, asked through a copy: pidfd_getfd(2), Linux 5.6. The caller
 * needs the right to trace the process. 1, 0, or -1 with errno. */
int wd_record_is_listening(int pidfd, int descriptor);

/* Lets a child do the last close of these descriptors: the last close of a tracepoint waits for grace periods of RCU, 20 to
 * 80 ms each. Their rings must be unmapped. The descriptors are closed in this process. Returns a pidfd of the child, by
 * which the caller reaps it (its exit sends no signal), and sets *pid; -1 if there is no child. */
int wd_record_close_elsewhere(const int *descriptors, size_t count, pid_t *pid);
