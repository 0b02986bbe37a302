// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

// Starts a process in a session of its own, with no signal blocked or ignored, standard input empty, standard output
// and error in two new files, a socket (unless it is negative) as descriptor 3, and no other descriptor.
//
// Returns 0, or an errno: posix_spawn(3).
int wd_testing_spawn(
    pid_t *pid, const char *path, char *const *arguments, int socket, const char *output, const char *errors);

// Waits until a child of this process exits, and reaps it; kills it if that takes longer than `patience` milliseconds.
// Reaps no other child. Returns its status in the form of wait(2), or -1 if other code has reaped it.
int wd_testing_reap(pid_t pid, int patience);

// Whether any process of this user may trace this one, which Yama otherwise allows only to ancestors: prctl(2),
// PR_SET_PTRACER.
void wd_testing_allow_tracing(int allow);

// The ID of the calling thread: gettid(2).
pid_t wd_testing_thread(void);
