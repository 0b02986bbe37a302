/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher: a small process that clones every program that watchdogd starts, so that watchdogd's loop never waits
 * for a child and no child shares memory with watchdogd.
 *
 * The programs are watchdogd's children (CLONE_PARENT). The launcher makes only raw system calls, blocks all signals,
 * and exits when the last copy of the supervisor's end of its socket is closed.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wd_spawn.h"

/* SCM_MAX_FD, include/net/scm.h. Two of them are the status socket and the file of the launch. */
enum { WD_LAUNCHER_MAX_DESCRIPTORS = 253 };

/* A request to the launcher. The descriptors that come with it are, in this order: the status socket, the file of the
 * launch, and those that the launch passes on. */
struct wd_launcher_request {
    uint64_t length; /* of the file */
    int cgroup;      /* index among the passed descriptors; -1: none */
    bool without_clone3; /* use clone(2), as if clone3(2) were refused; for tests */
    bool in_pipe;        /* the file is the read end of a pipe that holds the description */
    bool held;           /* the process waits before execve until the supervisor confirms it and lets it run */
};

/* The answer on the status socket: from the new process, before its first step, or from the launcher if there is none. A
 * pidfd comes with it if one could be opened and passed: the process may have ended and been reaped by the time that the
 * answer is read. With `held`, the process then waits, before execve, for wd_launcher_confirm() and wd_launcher_release().
 * When the last copy of the supervisor's end is closed, it exits if it has not been confirmed, and goes on otherwise. Without
 * a pidfd, it waits only to be confirmed. */
struct wd_launcher_answer {
    pid_t pid;
    int error; /* errno if the process could not be created */
};

/* Has the programs of the next launcher see CLOCK_MONOTONIC and CLOCK_BOOTTIME ahead by this many seconds:
 * time_namespaces(7). That launcher must be started while the process has one thread; it fails to start if this process
 * lacks CAP_SYS_ADMIN. */
void wd_launcher_lead_clocks(int64_t seconds);

/* Starts a launcher from the calling thread, which becomes the parent of the programs.
 *
 * The first call records the process's limits, scheduling policy and nice value; every launcher gets those, even if the
 * process has changed them since. With `precedence`, the launcher itself runs at real-time priority if permitted.
 *
 * Returns the supervisor's end of the launcher's socket, close-on-exec, or -1 with errno. */
int wd_launcher_start(bool precedence, pid_t *pid);

/* Sends a request. Never waits. -1 with errno: EAGAIN and ETOOMANYREFS go away once the launcher has read earlier
 * requests. */
int wd_launcher_send(int launcher, const struct wd_launcher_request *request, const int *descriptors, size_t count);

/* Creates both ends of a status socket, close-on-exec. */
int wd_launcher_status_pair(int ends[2]);

/* Reads the answer, and stores the pidfd, close-on-exec, or -1 if none came with it. 1: answered, 0: not yet, -1: it never
 * will. */
int wd_launcher_take_answer(int status, struct wd_launcher_answer *answer, int *pidfd);

/* What the supervisor sends to a process that is held. */
enum wd_launcher_word { WD_LAUNCHER_RUN = 1, WD_LAUNCHER_CONFIRMED = 2 };

/* Tells a process that is held, whether or not it exists already, that the supervisor's end does not undo the launch. Only
 * once. */
void wd_launcher_confirm(int status);

/* Lets a process that is held execute its program. Only once, after wd_launcher_confirm(), and only if a pidfd came with its
 * answer: it reads nothing else. */
void wd_launcher_release(int status);

/* Takes the latest outcome that the child has sent, if there is one; only after the answer. For a description in a pipe. */
void wd_launcher_take_outcome(int status, struct wd_spawn_outcome *outcome);

/* Creates a pipe that holds a description. Returns its read end, close-on-exec, or -1 with errno: EPERM where the pipe would
 * be larger than /proc/sys/fs/pipe-max-size. */
int wd_launcher_pipe(const void *description, size_t length);

/* Creates the file of a launch. */
int wd_launcher_file(void);

/* Keeps every process without CAP_SYS_PTRACE from tracing this one or opening its memory: PR_SET_DUMPABLE. */
void wd_protect_memory(void);
