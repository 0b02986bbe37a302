/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_spinner.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "wd_close_range.h"

/* Only async-signal-safe calls: the calling process has threads that may hold locks. */
pid_t wd_fork_spinner(void) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(70);
    wd_close_range(0, ~0U);
    setsid();
    struct sched_param parameters = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_OTHER, &parameters);
    setpriority(PRIO_PROCESS, 0, 0);
    prctl(PR_SET_NAME, "watchdogd-fault");
    for (volatile unsigned long turns = 0;; turns++) {}
}
