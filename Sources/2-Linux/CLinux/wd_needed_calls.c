/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_needed_calls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_refused(long result) { return result < 0 && (errno == ENOSYS || errno == EPERM); }

/* Whether a call that makes a descriptor is refused. Any other error is for its user to report. */
static bool makes_none(long descriptor) {
    if (descriptor >= 0) close((int)descriptor);
    return is_refused(descriptor);
}

static void *do_nothing(void *argument) { return argument; }

/* glibc 2.34 and later use clone3, and clone only if that fails with ENOSYS. */
static bool threads_are_refused(void) {
    if (syscall(SYS_clone3, NULL, 0) >= 0 || errno != EPERM) return false;
    pthread_t thread;
    int error = pthread_create(&thread, NULL, do_nothing, NULL);
    if (error == 0) pthread_join(thread, NULL);
    errno = error;
    return error == EPERM;
}

const char *wd_find_refused_call(void) {
    sigset_t none;
    sigemptyset(&none);
    siginfo_t information;
    int setting = 0;
    int ends[2];

    long process = syscall(SYS_pidfd_open, getpid(), 0);
    if (is_refused(process)) return "pidfd_open";
    bool is_mute = process >= 0 && is_refused(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
    int error = errno;
    if (process >= 0) close((int)process);
    errno = error;
    if (is_mute) return "pidfd_send_signal";
    if (is_refused(waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT))) return "waitid";
    if (makes_none(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC))) return "timerfd_create";
    if (makes_none(eventfd(0, EFD_CLOEXEC))) return "eventfd2";
    if (makes_none(signalfd(-1, &none, SFD_CLOEXEC))) return "signalfd4";
    if (makes_none(epoll_create1(EPOLL_CLOEXEC))) return "epoll_create1";
    if (is_refused(prctl(PR_GET_CHILD_SUBREAPER, &setting, 0, 0, 0))) return "prctl";
    if (threads_are_refused()) return "clone3";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        close(ends[0]);
        close(ends[1]);
    } else if (is_refused(-1)) {
        return "socketpair";
    }
    return NULL;
}
