// SPDX-License-Identifier: Apache-2.0

#include "CTesting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { remote = 3 };

static int prepare(posix_spawn_file_actions_t *actions, int socket, const char *output, const char *errors)
{
    int creating = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, output, creating, 0600);
    if (!error) error = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, errors, creating, 0600);
    // With equal numbers, adddup2 clears close-on-exec: glibc 2.29.
    if (!error && socket >= 0) error = posix_spawn_file_actions_adddup2(actions, socket, remote);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, remote + (socket >= 0));
    return error;
}

int wd_testing_spawn(
    pid_t *pid, const char *path, char *const *arguments, int socket, const char *output, const char *errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        sigset_t none, all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        error = prepare(&actions, socket, output, errors);
        if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int wd_testing_reap(pid_t pid, int patience)
{
    // Until the child is reaped, the kernel cannot reuse its ID, so the pidfd refers to it.
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process >= 0) {
        struct pollfd entry = {.fd = process, .events = POLLIN};
        if (poll(&entry, 1, patience) == 0) kill(pid, SIGKILL);
        close(process);
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

void wd_testing_allow_tracing(int allow)
{
    prctl(PR_SET_PTRACER, allow ? PR_SET_PTRACER_ANY : 0, 0, 0, 0);
}

pid_t wd_testing_thread(void)
{
    return gettid();
}
