/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_thread.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

int sample_thread_confine(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return errno;
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&allowed);
        CPU_SET(cpu, &allowed);
        return sched_setaffinity(0, sizeof allowed, &allowed) == 0 ? 0 : errno;
    }
    return EINVAL;
}

int sample_thread_set_nice(int nice)
{
    return setpriority(PRIO_PROCESS, 0, nice) == 0 ? 0 : errno;
}
