/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_scheduling.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int limited_thread;
static atomic_bool demoted;

int wd_scheduling_set_real_time(int priority) {
    struct sched_param parameter = {.sched_priority = priority};
    return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter);
}

/* sched_setattr(2), first version; glibc has no wrapper. */
struct scheduling_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t niceness;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct scheduling_attributes) == 48, "SCHED_ATTR_SIZE_VER0");

int wd_scheduling_set_niceness(int niceness) {
    struct scheduling_attributes attributes = {
        .size = sizeof attributes, .policy = SCHED_OTHER, .flags = 1 /* SCHED_FLAG_RESET_ON_FORK */, .niceness = niceness};
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int wd_scheduling_niceness(void) { return getpriority(PRIO_PROCESS, 0); }

/* The kernel may run the handler on any thread. */
static void demote(int signal) {
    (void)signal;
    int error = errno;
    struct sched_param parameter = {.sched_priority = 0};
    sched_setscheduler(atomic_load(&limited_thread), SCHED_OTHER | SCHED_RESET_ON_FORK, &parameter);
    atomic_store(&demoted, true);
    errno = error;
}

int wd_scheduling_demote_on_limit(void) {
    struct sigaction action = {.sa_handler = demote, .sa_flags = SA_RESTART};
    atomic_store(&limited_thread, gettid());
    return sigaction(SIGXCPU, &action, NULL);
}

bool wd_scheduling_was_demoted(void) { return atomic_load(&demoted); }
