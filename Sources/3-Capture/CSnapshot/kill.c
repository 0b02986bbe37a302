/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/pidfd.h of Linux 6.9. */
enum { SIGNAL_PROCESS_GROUP = 1 << 2 };

/* Another thread may reap the process as soon as it is dead, and then the kernel may reuse its number for another
 * group. So kill(2) is the fallback for kernels without PIDFD_SIGNAL_PROCESS_GROUP, and for groups of other leaders. */
static void kill_group(const struct wd_snapshot_arena *arena) {
    pid_t group = arena->request->process_group;
    /* To kill(2), 0 means the caller's own group and -1 every process. */
    if (group <= 1 || group == getpgrp() || arena->pidfd < 0) return;
    long result = group == arena->request->pid
        ? syscall(SYS_pidfd_send_signal, arena->pidfd, SIGKILL, NULL, SIGNAL_PROCESS_GROUP)
        : (errno = EINVAL, -1);
    if (result < 0 && errno == EINVAL) kill(-group, SIGKILL);
}

void wd_kill(struct wd_snapshot_arena *arena) {
    const struct wd_snapshot_request *request = arena->request;
    struct wd_snapshot_result *result = arena->result;
    if (arena->pidfd < 0) result->kill_error = ESRCH;
    else if (syscall(SYS_pidfd_send_signal, arena->pidfd, SIGKILL, NULL, 0) != 0) result->kill_error = errno;
    else result->killed = 1;
    if (request->cgroup_kill >= 0 && pwrite(request->cgroup_kill, "1", 1, 0) < 0 && result->kill_error == 0)
        result->kill_error = errno;
    kill_group(arena);
}
