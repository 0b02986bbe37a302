// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

// Starts a process in a session of its own, with no signal blocked or ignored, standard input empty, standard output
// and error in two new files, a socket (unless it is negative) as descriptor 3, and no other descriptor.
//
// Returns 0, or the number of the error: posix_spawn(3).
int wd_testing_spawn(
    pid_t *pid, const char *path, char *const *arguments, int socket, const char *output, const char *errors);

// Waits until a child of this process has exited and reaps it; kills it first if that takes longer than the given
// milliseconds. Touches no other child. Returns its status as wait(2) has it, or -1 if somebody else has reaped it.
int wd_testing_reap(pid_t pid, int patience);

// Whether any process of this user may trace this one, which Yama otherwise allows only to ancestors: prctl(2),
// PR_SET_PTRACER.
void wd_testing_allow_tracing(int allow);

// The ID of the calling thread: gettid(2).
pid_t wd_testing_thread(void);
