/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

void wd_kill(struct wd_snapshot_arena *arena) {
    const struct wd_snapshot_request *request = arena->request;
    struct wd_snapshot_result *result = arena->result;
    if (arena->pidfd < 0) result->kill_error = ESRCH;
    else if (syscall(SYS_pidfd_send_signal, arena->pidfd, SIGKILL, NULL, 0) != 0) result->kill_error = errno;
    else result->killed = 1;
    if (request->cgroup_kill >= 0 && pwrite(request->cgroup_kill, "1", 1, 0) < 0 && result->kill_error == 0)
        result->kill_error = errno;
    /* kill(2) reads 0 and -1 as "our own group" and "everything". */
    if (request->process_group > 1 && request->process_group != getpgrp()) kill(-request->process_group, SIGKILL);
}
