/* SPDX-License-Identifier: Apache-2.0
 *
 * Resource limits: getrlimit(2). Swift imports only the standard resources, and the name of glibc's enumeration differs
 * between C libraries. Values are the kernel's; ~0 means no limit. Both functions return -1 with errno on failure.
 */
#pragma once
#include <stdint.h>

extern const int wd_limit_cpu, wd_limit_fsize, wd_limit_data, wd_limit_stack, wd_limit_core, wd_limit_rss, wd_limit_nofile,
    wd_limit_as, wd_limit_nproc, wd_limit_memlock, wd_limit_locks, wd_limit_sigpending, wd_limit_msgqueue, wd_limit_nice,
    wd_limit_rtprio, wd_limit_rttime;

int wd_get_limit(int resource, uint64_t *soft, uint64_t *hard);
int wd_set_limit(int resource, uint64_t soft, uint64_t hard);
