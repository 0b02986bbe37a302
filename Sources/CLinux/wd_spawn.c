/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's side of a launch.
 *
 * CLONE_VFORK would hold the calling thread until the child has exec'd, however long a dead file server keeps it in
 * execve, and a SIGSTOP sent by the app's user between setresuid and execve would hold it for good. The kernel's
 * CLONE_CHILD_CLEARTID marks the same moment (mm_release, kernel/fork.c) but is a futex, which can be waited for with a
 * limit.
 */
#include "wd_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wd_raw_syscall.h"
#include "wd_spawn_child.h"

enum { STACK_BYTES = 64 << 10, GUARD_BYTES = 64 << 10, DEATH_LIMIT_MS = 100 };

static uint64_t monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* True when the child has left our memory within the limit. The kernel wakes a shared futex, so no FUTEX_PRIVATE. */
static bool wait_until_gone(struct wd_spawn_launch *launch, uint64_t nanoseconds) {
    uint64_t deadline = monotonic_nanoseconds() + nanoseconds;
    for (;;) {
        uint32_t busy = __atomic_load_n(&launch->busy, __ATOMIC_ACQUIRE);
        if (busy == 0) return true;
        uint64_t now = monotonic_nanoseconds();
        if (now >= deadline) return false;
        uint64_t left = deadline - now;
        struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000U), .tv_nsec = (long)(left % 1000000000U)};
        syscall(SYS_futex, &launch->busy, FUTEX_WAIT, busy, &timeout, NULL, 0);
    }
}

/* A child that cannot be reaped in time is left to the reaping of orphans. */
static void reap(int pidfd) {
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    siginfo_t info;
    if (poll(&ended, 1, DEATH_LIMIT_MS) == 1) waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
}

static long clone3_child(struct wd_spawn_launch *launch, char *stack, int cgroup, int *pidfd) {
    struct clone_args arguments = {
        .flags = CLONE_VM | CLONE_FILES | CLONE_PIDFD | CLONE_CHILD_CLEARTID | CLONE_CLEAR_SIGHAND,
        .pidfd = (uint64_t)(uintptr_t)pidfd,
        .child_tid = (uint64_t)(uintptr_t)&launch->busy,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = STACK_BYTES,
    };
    if (cgroup >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = (uint64_t)cgroup;
    }
    return wd_raw_clone(SYS_clone3, (long)&arguments, (long)sizeof arguments, 0, 0, 0, wd_spawn_child, launch);
}

static long clone_child(struct wd_spawn_launch *launch, char *stack, int *pidfd) {
    long flags = CLONE_VM | CLONE_FILES | CLONE_PIDFD | CLONE_CHILD_CLEARTID | SIGCHLD;
    long top = (long)(stack + STACK_BYTES);
    long tid = (long)&launch->busy;
#if WD_RAW_CLONE_TLS_BEFORE_CHILD_TID
    return wd_raw_clone(SYS_clone, flags, top, (long)pidfd, 0, tid, wd_spawn_child, launch);
#else
    return wd_raw_clone(SYS_clone, flags, top, (long)pidfd, tid, 0, wd_spawn_child, launch);
#endif
}

static long clone_somehow(struct wd_spawn_launch *launch, char *stack, int *pidfd) {
    const struct wd_spawn_request *request = launch->request;
    long pid = request->without_clone3 ? -ENOSYS : clone3_child(launch, stack, request->cgroup, pidfd);
    if (pid >= 0 || pid == -EAGAIN || pid == -ENOMEM) return pid;
    if (request->cgroup >= 0) {
        launch->moves = true;
        if (!request->without_clone3) pid = clone3_child(launch, stack, -1, pidfd);
    }
    /* The seccomp filters of systemd's RestrictNamespaces= and of Docker answer clone3 with ENOSYS, older ones with EPERM. */
    if (pid == -ENOSYS || pid == -EPERM) pid = clone_child(launch, stack, pidfd);
    return pid;
}

/* A process that shares our memory and changes its user takes our "dumpable" attribute away (commit_creds), and one that
 * sets its OOM score without CLONE_VFORK sets ours (__set_oom_adj). Both are put back once it has memory of its own. */
struct attributes {
    int dumpable;
    char oom_score_adjustment[16];
    ssize_t oom_length;
};

static void save_attributes(const struct wd_spawn_request *request, struct attributes *saved) {
    saved->dumpable = request->has_credentials ? prctl(PR_GET_DUMPABLE) : -1;
    saved->oom_length = 0;
    if (request->oom_score_adjustment == NULL) return;
    int file = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    saved->oom_length = read(file, saved->oom_score_adjustment, sizeof saved->oom_score_adjustment);
    close(file);
}

static void restore_attributes(const struct attributes *saved) {
    if (saved->dumpable == 1) prctl(PR_SET_DUMPABLE, 1);
    if (saved->oom_length <= 0) return;
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t written = write(file, saved->oom_score_adjustment, (size_t)saved->oom_length);
    (void)written;
    close(file);
}

static void launch_on(char *mapping, const struct wd_spawn_request *request, struct wd_spawn_result *result) {
    /* The launch record lives with the stack: both must outlast an abandoned child. */
    char *stack = mapping + GUARD_BYTES;
    struct wd_spawn_launch *launch = (struct wd_spawn_launch *)(stack + STACK_BYTES);
    launch->request = request;
    launch->busy = UINT32_MAX;
    launch->stage = WD_SPAWN_STAGE_CLONE;
    launch->moves = false;
    launch->cgroup_error = 0;

    struct attributes saved;
    save_attributes(request, &saved);
    int pidfd = -1;
    long pid = clone_somehow(launch, stack, &pidfd);
    if (pid < 0) {
        result->stage = WD_SPAWN_STAGE_CLONE;
        result->error = (int)-pid;
        return;
    }

    bool in_time = wait_until_gone(launch, request->limit_nanoseconds);
    if (in_time && launch->error == 0) {
        result->pid = (pid_t)pid;
        result->pidfd = pidfd;
        result->cgroup_error = launch->cgroup_error;
        result->moved = launch->moves && launch->cgroup_error == 0;
    } else {
        result->stage = launch->stage;
        result->index = launch->index;
        result->error = in_time ? launch->error : ETIMEDOUT;
        if (!in_time) {
            syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
            result->abandoned = !wait_until_gone(launch, (uint64_t)DEATH_LIMIT_MS * 1000000U);
        }
        if (!result->abandoned) reap(pidfd);
        close(pidfd);
    }
    restore_attributes(&saved);
}

void wd_spawn(const struct wd_spawn_request *request, struct wd_spawn_result *result) {
    memset(result, 0, sizeof *result);
    result->pid = -1;
    result->pidfd = -1;

    size_t length = GUARD_BYTES + STACK_BYTES + sizeof(struct wd_spawn_launch);
    char *mapping = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (mapping == MAP_FAILED) {
        result->stage = WD_SPAWN_STAGE_CLONE;
        result->error = errno;
        return;
    }
    mprotect(mapping, GUARD_BYTES, PROT_NONE);

    /* Every signal, including those that glibc keeps to itself and pthread_sigmask refuses to block: a handler must not
     * run in the child, whose thread-local storage is ours. */
    uint64_t all = UINT64_MAX;
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof mask);
    launch_on(mapping, request, result);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);

    if (!result->abandoned) munmap(mapping, length);
}
