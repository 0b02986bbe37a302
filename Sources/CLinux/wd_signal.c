/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_signal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

void wd_signals_block(const int *signals, size_t count) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < count; i++) sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
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
