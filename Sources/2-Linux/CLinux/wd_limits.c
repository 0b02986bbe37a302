/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_limits.h"

#include <stddef.h>
#include <sys/resource.h>

const int wd_limit_cpu = RLIMIT_CPU, wd_limit_fsize = RLIMIT_FSIZE, wd_limit_data = RLIMIT_DATA,
          wd_limit_stack = RLIMIT_STACK, wd_limit_core = RLIMIT_CORE, wd_limit_rss = RLIMIT_RSS,
          wd_limit_nofile = RLIMIT_NOFILE, wd_limit_as = RLIMIT_AS, wd_limit_nproc = RLIMIT_NPROC,
          wd_limit_memlock = RLIMIT_MEMLOCK, wd_limit_locks = RLIMIT_LOCKS, wd_limit_sigpending = RLIMIT_SIGPENDING,
          wd_limit_msgqueue = RLIMIT_MSGQUEUE, wd_limit_nice = RLIMIT_NICE, wd_limit_rtprio = RLIMIT_RTPRIO,
          wd_limit_rttime = RLIMIT_RTTIME;

int wd_get_limit(int resource, uint64_t *soft, uint64_t *hard) {
    struct rlimit64 limit;
    if (prlimit64(0, (enum __rlimit_resource)resource, NULL, &limit) < 0) return -1;
    *soft = limit.rlim_cur;
    *hard = limit.rlim_max;
    return 0;
}

int wd_set_limit(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit64 limit = {.rlim_cur = soft, .rlim_max = hard};
    return prlimit64(0, (enum __rlimit_resource)resource, &limit, NULL);
}
