/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_scheduling.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>

static void drop_realtime(int signal) {
    (void)signal;
    int error = errno;
    struct sched_param ordinary = {0};
    /* A bare system call, and so safe in a handler. */
    (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &ordinary);
    errno = error;
}

int wd_become_realtime(uint64_t rttime_microseconds) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return -1;
    if (rttime_microseconds > limit.rlim_max) rttime_microseconds = limit.rlim_max;
    limit.rlim_cur = rttime_microseconds;
    struct sigaction action = {.sa_handler = drop_realtime, .sa_flags = SA_RESTART};
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    if (setrlimit(RLIMIT_RTTIME, &limit) != 0 || sigaction(SIGXCPU, &action, NULL) != 0) return -1;
    return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}
