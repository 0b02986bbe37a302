/* SPDX-License-Identifier: Apache-2.0
 *
 * The child between clone and execve. It shares memory with a parent that has threads, so a lock of libc may be held for
 * ever and the thread-local storage is the parent's: raw system calls only. A test checks that this object file has no
 * undefined symbol, which is why the attributes below keep sanitizers and the compiler from adding any.
 */
#include "wd_spawn_child.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "wd_raw_syscall.h"

#if defined(__clang__)
#define WD_CHILD __attribute__((disable_sanitizer_instrumentation, no_builtin, no_stack_protector))
#else
#define WD_CHILD __attribute__((no_sanitize("address", "thread", "undefined"), optimize("no-tree-loop-distribute-patterns")))
#endif

#define CALL(number, a, b, c, d, e) \
    wd_raw_syscall5((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

/* The kernel's structures; libc's differ. */
struct kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

struct kernel_rlimit {
    uint64_t soft;
    uint64_t hard;
};

enum { SIGNALS = 64, SIGNAL_KILL = 9, SIGNAL_STOP = 19, POLICY_OTHER = 0, POLICY_FIFO = 1, POLICY_RR = 2 };

WD_CHILD static void fail(struct wd_spawn_launch *launch, long result) {
    launch->error = (int)-result;
    for (;;) CALL(__NR_exit_group, 127, 0, 0, 0, 0);
}

WD_CHILD static void check(struct wd_spawn_launch *launch, long result) {
    if (result < 0) fail(launch, result);
}

/* CLONE_CLEAR_SIGHAND resets handlers but keeps SIG_IGN, and clone(2) has no such flag. The calling thread's table of
 * handlers is a copy, so the parent's stays as it is. */
WD_CHILD static void reset_signals(struct wd_spawn_launch *launch) {
    struct kernel_sigaction action;
    action.handler = NULL;
    action.flags = 0;
    action.restorer = NULL;
    action.mask = 0;
    for (int signal = 1; signal <= SIGNALS; signal++) {
        if (signal == SIGNAL_KILL || signal == SIGNAL_STOP) continue;
        check(launch, CALL(__NR_rt_sigaction, signal, &action, NULL, sizeof action.mask, 0));
    }
}

WD_CHILD static void set_session(struct wd_spawn_launch *launch, const struct wd_spawn_request *request) {
    switch (request->session) {
    case WD_SPAWN_SESSION_INHERIT:
        return;
    case WD_SPAWN_SESSION_NEW:
        check(launch, CALL(__NR_setsid, 0, 0, 0, 0, 0));
        return;
    case WD_SPAWN_SESSION_NEW_GROUP:
        check(launch, CALL(__NR_setpgid, 0, 0, 0, 0, 0));
        if (request->terminal < 0) return;
        launch->stage = WD_SPAWN_STAGE_FOREGROUND;
        /* All signals are blocked, so SIGTTOU does not stop a background group here: tcsetpgrp(3). */
        int self = (int)CALL(__NR_getpid, 0, 0, 0, 0, 0);
        check(launch, CALL(__NR_ioctl, request->terminal, TIOCSPGRP, &self, 0, 0));
        return;
    }
}

WD_CHILD static bool is_pending_source(const struct wd_spawn_request *request, size_t except, int number) {
    for (size_t i = 0; i < request->descriptor_count; i++) {
        const struct wd_spawn_descriptor *descriptor = &request->descriptors[i];
        if (i != except && !descriptor->done && descriptor->source == number) return true;
    }
    return false;
}

/* A parallel move: a descriptor is placed as soon as nobody needs what its target number holds; what is left when none
 * can be placed are cycles, each broken with one temporary. */
WD_CHILD static void place_descriptors(struct wd_spawn_launch *launch, const struct wd_spawn_request *request) {
    size_t left = request->descriptor_count;
    int above = left > 0 ? request->sorted_targets[left - 1] + 1 : 0;
    while (left > 0) {
        size_t blocked = request->descriptor_count;
        size_t before = left;
        for (size_t i = 0; i < request->descriptor_count; i++) {
            struct wd_spawn_descriptor *descriptor = &request->descriptors[i];
            if (descriptor->done) continue;
            launch->index = i;
            if (descriptor->source == descriptor->target) {
                check(launch, CALL(__NR_fcntl, descriptor->source, F_SETFD, 0, 0, 0));
            } else if (!is_pending_source(request, i, descriptor->target)) {
                check(launch, CALL(__NR_dup3, descriptor->source, descriptor->target, 0, 0, 0));
            } else {
                blocked = i;
                continue;
            }
            descriptor->done = true;
            left--;
        }
        if (left < before || left == 0) continue;
        launch->index = blocked;
        int source = request->descriptors[blocked].source;
        long moved = CALL(__NR_fcntl, source, F_DUPFD_CLOEXEC, above, 0, 0);
        check(launch, moved);
        for (size_t i = 0; i < request->descriptor_count; i++) {
            if (!request->descriptors[i].done && request->descriptors[i].source == source)
                request->descriptors[i].source = (int)moved;
        }
    }
}

WD_CHILD static void close_others(struct wd_spawn_launch *launch, const struct wd_spawn_request *request) {
    unsigned first = 0;
    for (size_t i = 0; i < request->descriptor_count; i++) {
        unsigned target = (unsigned)request->sorted_targets[i];
        if (first < target) check(launch, CALL(__NR_close_range, first, target - 1, 0, 0, 0));
        first = target + 1;
    }
    check(launch, CALL(__NR_close_range, first, ~0U, 0, 0, 0));
}

WD_CHILD static void set_limits(struct wd_spawn_launch *launch, const struct wd_spawn_request *request) {
    for (size_t i = 0; i < request->limit_count; i++) {
        struct kernel_rlimit limit;
        limit.soft = request->limits[i].soft;
        limit.hard = request->limits[i].hard;
        launch->index = i;
        check(launch, CALL(__NR_prlimit64, 0, request->limits[i].resource, &limit, NULL, 0));
    }
}

WD_CHILD static void set_oom_score(struct wd_spawn_launch *launch, const char *text) {
    long file = CALL(__NR_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0, 0);
    check(launch, file);
    size_t length = 0;
    while (text[length] != 0) length++;
    check(launch, CALL(__NR_write, file, text, length, 0, 0));
    CALL(__NR_close, file, 0, 0, 0, 0);
}

/* "0" is the writer: cgroups(7). The kernel holds up all forks meanwhile, some milliseconds, which clone3 spares. */
WD_CHILD static void move_to_cgroup(struct wd_spawn_launch *launch, int cgroup) {
    static const char name[] = "cgroup.procs";
    static const char self = '0';
    long file = CALL(__NR_openat, cgroup, name, O_WRONLY | O_CLOEXEC, 0, 0);
    long result = file < 0 ? file : CALL(__NR_write, file, &self, 1, 0, 0);
    if (result < 0) launch->cgroup_error = (int)-result;
    if (file >= 0) CALL(__NR_close, file, 0, 0, 0, 0);
}

WD_CHILD static void write_pid(char *text) {
    char digits[10];
    int count = 0;
    unsigned long pid = (unsigned long)CALL(__NR_getpid, 0, 0, 0, 0, 0);
    do {
        digits[count++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid > 0 && count < 10);
    for (int i = 0; i < count; i++) text[i] = digits[count - 1 - i];
    text[count] = 0;
}

WD_CHILD void wd_spawn_child(void *opaque) {
    struct wd_spawn_launch *launch = opaque;
    const struct wd_spawn_request *request = launch->request;

    /* In the parent's descriptor table still: the cgroup's descriptor is in no other. */
    launch->stage = WD_SPAWN_STAGE_CGROUP;
    if (launch->moves) move_to_cgroup(launch, request->cgroup);

    launch->stage = WD_SPAWN_STAGE_SIGNALS;
    reset_signals(launch);

    launch->stage = WD_SPAWN_STAGE_SESSION;
    set_session(launch, request);

    /* Leaves the table shared with the parent, copying no more of it than the planned descriptors need: copying ten
     * thousand costs a millisecond. close_range(2). Nothing may change what a descriptor number means before this line. */
    launch->stage = WD_SPAWN_STAGE_UNSHARE;
    unsigned first_unneeded = 0;
    for (size_t i = 0; i < request->descriptor_count; i++) {
        if (request->descriptors[i].source >= (int)first_unneeded)
            first_unneeded = (unsigned)request->descriptors[i].source + 1;
    }
    check(launch, CALL(__NR_close_range, first_unneeded, ~0U, CLOSE_RANGE_UNSHARE, 0, 0));

    launch->stage = WD_SPAWN_STAGE_DESCRIPTOR;
    place_descriptors(launch, request);
    launch->stage = WD_SPAWN_STAGE_CLOSE;
    close_others(launch, request);

    launch->stage = WD_SPAWN_STAGE_LIMIT;
    set_limits(launch, request);

    /* A real-time policy is the supervisor's own; batch and idle are what its user asked for, and are inherited. */
    launch->stage = WD_SPAWN_STAGE_SCHEDULING;
    long policy = CALL(__NR_sched_getscheduler, 0, 0, 0, 0, 0) & ~SCHED_RESET_ON_FORK;
    if (policy == POLICY_FIFO || policy == POLICY_RR) {
        int priority = 0;
        check(launch, CALL(__NR_sched_setscheduler, 0, POLICY_OTHER, &priority, 0, 0));
    }
    if (request->has_niceness) {
        launch->stage = WD_SPAWN_STAGE_NICENESS;
        check(launch, CALL(__NR_setpriority, 0, 0, request->niceness, 0, 0));
    }
    if (request->oom_score_adjustment != NULL) {
        launch->stage = WD_SPAWN_STAGE_OOM_SCORE;
        set_oom_score(launch, request->oom_score_adjustment);
    }
    if (request->file_mode_mask >= 0) CALL(__NR_umask, request->file_mode_mask, 0, 0, 0, 0);
    if (request->no_new_privileges) {
        launch->stage = WD_SPAWN_STAGE_NO_NEW_PRIVILEGES;
        check(launch, CALL(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    }

    /* Groups while still privileged, the user last; the working directory is entered with the app's own rights. */
    if (request->has_credentials) {
        launch->stage = WD_SPAWN_STAGE_GROUPS;
        check(launch, CALL(__NR_setgroups, request->group_count, request->groups, 0, 0, 0));
        launch->stage = WD_SPAWN_STAGE_GROUP;
        check(launch, CALL(__NR_setresgid, request->group, request->group, request->group, 0, 0));
        launch->stage = WD_SPAWN_STAGE_USER;
        check(launch, CALL(__NR_setresuid, request->user, request->user, request->user, 0, 0));
    }
    if (request->directory != NULL) {
        launch->stage = WD_SPAWN_STAGE_DIRECTORY;
        check(launch, CALL(__NR_chdir, request->directory, 0, 0, 0, 0));
    }
    for (size_t i = 0; i < request->pid_text_count; i++) write_pid(request->pid_texts[i]);

    launch->stage = WD_SPAWN_STAGE_EXECUTE;
    unsigned long no_signals = 0;
    CALL(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, &no_signals, NULL, sizeof no_signals, 0);
    fail(launch, CALL(__NR_execve, request->path, request->arguments, request->environment, 0, 0));
}
