/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_signal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static sigset_t set_of(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) sigaddset(&set, signals[i]);
    return set;
}

void wd_signals_block(const int *signals, size_t count) {
    sigset_t set = set_of(signals, count);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

bool wd_signals_wait(const int *signals, size_t count, int64_t nanoseconds) {
    sigset_t set = set_of(signals, count);
    int64_t end = now() + nanoseconds;
    for (;;) {
        int64_t left = end - now();
        if (left < 0) left = 0;
        struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (sigtimedwait(&set, NULL, &time) > 0) return true;
        if (errno != EINTR) return false;
    }
}

int wd_terminal_set_foreground(int terminal, pid_t group) {
    sigset_t blocked, previous;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &blocked, &previous);
    int result = tcsetpgrp(terminal, group);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    errno = error;
    return result;
}
