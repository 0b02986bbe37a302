/* SPDX-License-Identifier: Apache-2.0
 *
 * The child between clone and execve.
 */
#include "wd_spawn_child.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "wd_close_range.h"

enum { POLICY_OTHER = 0, POLICY_FIFO = 1, POLICY_RR = 2, PASSED = 2 };

WD_CHILD static void leave(void) {
    for (;;) CALL(__NR_exit_group, 127, 0, 0, 0, 0);
}

/* The status socket is the last descriptor: it is placed like all others. */
WD_CHILD static void send_outcome(const struct wd_launch *launch) {
    if (!launch->in_pipe) return;
    const struct wd_spawn_descriptor *status = &launch->descriptors[launch->descriptor_count - 1];
    CALL(__NR_write, status->done ? status->target : status->source, &launch->outcome, sizeof launch->outcome, 0, 0);
}

WD_CHILD static void fail(struct wd_launch *launch, long result) {
    launch->outcome.error = (int)-result;
    send_outcome(launch);
    leave();
}

WD_CHILD static void check(struct wd_launch *launch, long result) {
    if (result < 0) fail(launch, result);
}

WD_CHILD static void read_all(int file, char *bytes, uint64_t length) {
    while (length > 0) {
        long count = CALL(__NR_read, file, bytes, length, 0, 0);
        if (count == -EINTR) continue;
        if (count <= 0) leave();
        bytes += count;
        length -= (uint64_t)count;
    }
}

WD_CHILD static struct wd_launch *map(const struct wd_spawn_birth *birth) {
    int file = birth->descriptors[1];
    long address = wd_raw_syscall6(__NR_mmap, 0, (long)birth->length, PROT_READ | PROT_WRITE,
                                   birth->in_pipe ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, birth->in_pipe ? -1 : file, 0);
    if (address < 0 && address > -4096) leave();
    if (birth->in_pipe) read_all(file, (char *)address, birth->length);
    struct wd_launch *launch = (struct wd_launch *)address;
    launch->in_pipe = birth->in_pipe;
    const uint64_t *relocations = (const uint64_t *)(address + (long)launch->relocations);
    for (uint64_t i = 0; i < launch->relocation_count; i++) *(uint64_t *)(address + (long)relocations[i]) += (uint64_t)address;
    for (uint64_t i = 0; i < launch->descriptor_count; i++) {
        struct wd_spawn_descriptor *descriptor = &launch->descriptors[i];
        descriptor->source = birth->descriptors[descriptor->source];
    }
    return launch;
}

enum sent { NOT_SENT, SENT_ALONE, SENT_WITH_PIDFD };

WD_CHILD static enum sent send_answer(int status, struct wd_launcher_answer *answer, int pidfd) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec vector;
    vector.iov_base = answer;
    vector.iov_len = sizeof *answer;
    struct msghdr message;
    wd_prepare(&message, &vector, &control, sizeof control);
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    *(int *)CMSG_DATA(&control.header) = pidfd;
    long sent = -ETOOMANYREFS;
    if (pidfd >= 0) sent = CALL(__NR_sendmsg, status, &message, MSG_NOSIGNAL, 0, 0);
    if (sent == sizeof *answer) return SENT_WITH_PIDFD;
    /* The number of a user's descriptors on their way is limited, unix(7). */
    if (sent == -ETOOMANYREFS) {
        wd_prepare(&message, &vector, NULL, 0);
        sent = CALL(__NR_sendmsg, status, &message, MSG_NOSIGNAL, 0, 0);
    }
    return sent == sizeof *answer ? SENT_ALONE : NOT_SENT;
}

/* What a process still waits for before it executes its program. */
enum hold { HOLD_NONE, HOLD_UNTIL_CONFIRMED, HOLD_UNTIL_RELEASED };

/* Until the supervisor can know about this process, its actions must have no visible effect. A supervisor that has given
 * the launch up takes no answer. */
WD_CHILD static enum hold report_birth(const struct wd_spawn_birth *birth) {
    struct wd_launcher_answer answer;
    answer.pid = (pid_t)CALL(__NR_getpid, 0, 0, 0, 0, 0);
    answer.error = 0;
    int pidfd = (int)CALL(__NR_pidfd_open, answer.pid, 0, 0, 0, 0);
    enum sent sent = send_answer(birth->descriptors[0], &answer, pidfd);
    if (sent == NOT_SENT) leave();
    if (!birth->held) return HOLD_NONE;
    return sent == SENT_WITH_PIDFD ? HOLD_UNTIL_RELEASED : HOLD_UNTIL_CONFIRMED;
}

/* At the end of file, the supervisor has ended. If it had saved the launch, the next one takes the process for launched;
 * otherwise, nobody knows of it, and it must not run. */
WD_CHILD static void wait_for_leave(const struct wd_launch *launch, enum hold hold) {
    int status = launch->descriptors[launch->descriptor_count - 1].target;
    bool confirmed = false;
    while (!confirmed || hold == HOLD_UNTIL_RELEASED) {
        char word = 0;
        long length = CALL(__NR_read, status, &word, 1, 0, 0);
        if (length == -EINTR) continue;
        if (length != 1 && !confirmed) leave();
        if (length != 1 || word == WD_LAUNCHER_RUN) return;
        confirmed = true;
    }
}

WD_CHILD static void set_session(struct wd_launch *launch, const struct wd_spawn_birth *birth) {
    switch (launch->session) {
    case WD_SPAWN_SESSION_INHERIT:
        return;
    case WD_SPAWN_SESSION_NEW:
        check(launch, CALL(__NR_setsid, 0, 0, 0, 0, 0));
        return;
    case WD_SPAWN_SESSION_NEW_GROUP:
        check(launch, CALL(__NR_setpgid, 0, 0, 0, 0, 0));
        if (launch->terminal < 0) return;
        launch->outcome.stage = WD_SPAWN_STAGE_FOREGROUND;
        /* All signals are blocked, so SIGTTOU does not stop a background group here: tcsetpgrp(3). */
        int self = (int)CALL(__NR_getpid, 0, 0, 0, 0, 0);
        check(launch, CALL(__NR_ioctl, birth->descriptors[PASSED + launch->terminal], TIOCSPGRP, &self, 0, 0));
        return;
    }
}

WD_CHILD static bool is_pending_source(const struct wd_launch *launch, size_t except, int number) {
    for (size_t i = 0; i < launch->descriptor_count; i++) {
        const struct wd_spawn_descriptor *descriptor = &launch->descriptors[i];
        if (i != except && !descriptor->done && descriptor->source == number) return true;
    }
    return false;
}

/* A parallel move: a descriptor is placed as soon as nobody needs the current content of its target number. What
 * remains when none can be placed are cycles; each is broken with one temporary descriptor. */
WD_CHILD static void place_descriptors(struct wd_launch *launch) {
    size_t left = launch->descriptor_count;
    int above = left > 0 ? launch->sorted_targets[left - 1] + 1 : 0;
    while (left > 0) {
        size_t blocked = launch->descriptor_count;
        size_t before = left;
        for (size_t i = 0; i < launch->descriptor_count; i++) {
            struct wd_spawn_descriptor *descriptor = &launch->descriptors[i];
            if (descriptor->done) continue;
            launch->outcome.index = (uint32_t)i;
            if (descriptor->source == descriptor->target) {
                check(launch, CALL(__NR_fcntl, descriptor->source, F_SETFD, descriptor->closes_on_exec ? FD_CLOEXEC : 0, 0, 0));
            } else if (!is_pending_source(launch, i, descriptor->target)) {
                check(launch, CALL(__NR_dup3, descriptor->source, descriptor->target, descriptor->closes_on_exec ? O_CLOEXEC : 0, 0, 0));
            } else {
                blocked = i;
                continue;
            }
            descriptor->done = true;
            left--;
        }
        if (left < before || left == 0) continue;
        launch->outcome.index = (uint32_t)blocked;
        int source = launch->descriptors[blocked].source;
        long moved = CALL(__NR_fcntl, source, F_DUPFD_CLOEXEC, above, 0, 0);
        check(launch, moved);
        for (size_t i = 0; i < launch->descriptor_count; i++) {
            if (!launch->descriptors[i].done && launch->descriptors[i].source == source)
                launch->descriptors[i].source = (int)moved;
        }
    }
}

WD_CHILD static void close_others(const struct wd_launch *launch) {
    unsigned first = 0;
    for (size_t i = 0; i < launch->descriptor_count; i++) {
        unsigned target = (unsigned)launch->sorted_targets[i];
        if (first < target) wd_close_range(first, target - 1);
        first = target + 1;
    }
    wd_close_range(first, ~0U);
}

WD_CHILD static void set_limits(struct wd_launch *launch) {
    for (size_t i = 0; i < launch->limit_count; i++) {
        struct wd_kernel_limit limit;
        limit.soft = launch->limits[i].soft;
        limit.hard = launch->limits[i].hard;
        launch->outcome.index = (uint32_t)i;
        check(launch, CALL(__NR_prlimit64, 0, launch->limits[i].resource, &limit, NULL, 0));
    }
}

WD_CHILD static void set_oom_score(struct wd_launch *launch, const char *text) {
    long file = CALL(__NR_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0, 0);
    check(launch, file);
    size_t length = 0;
    while (text[length] != 0) length++;
    check(launch, CALL(__NR_write, file, text, length, 0, 0));
    CALL(__NR_close, file, 0, 0, 0, 0);
}

/* "0" stands for the writer: cgroups(7). The kernel blocks all forks for some milliseconds meanwhile, which clone3
 * avoids. */
WD_CHILD static void move_to_cgroup(struct wd_launch *launch, int cgroup) {
    static const char name[] = "cgroup.procs";
    static const char self = '0';
    long file = CALL(__NR_openat, cgroup, name, O_WRONLY | O_CLOEXEC, 0, 0);
    long result = file < 0 ? file : CALL(__NR_write, file, &self, 1, 0, 0);
    launch->outcome.cgroup_error = result < 0 ? (int)-result : 0;
    launch->outcome.moved = result >= 0;
    if (file >= 0) CALL(__NR_close, file, 0, 0, 0, 0);
    send_outcome(launch);
}

/* The children of a launcher with real-time priority are reset to nice 0: sched(7), SCHED_RESET_ON_FORK. Batch and idle
 * are what watchdogd's user chose, and are inherited. */
WD_CHILD static void set_scheduling(struct wd_launch *launch, const struct wd_scheduling *scheduling) {
    launch->outcome.stage = WD_SPAWN_STAGE_SCHEDULING;
    int wanted = scheduling->policy == POLICY_FIFO || scheduling->policy == POLICY_RR ? POLICY_OTHER : scheduling->policy;
    long policy = CALL(__NR_sched_getscheduler, 0, 0, 0, 0, 0) & ~SCHED_RESET_ON_FORK;
    if (policy != wanted) {
        int priority = 0;
        check(launch, CALL(__NR_sched_setscheduler, 0, wanted, &priority, 0, 0));
    }
    int niceness = launch->has_niceness ? launch->niceness : scheduling->niceness;
    /* The raw system call returns 20 - nice. */
    if (20 - CALL(__NR_getpriority, 0, 0, 0, 0, 0) == niceness) return;
    launch->outcome.stage = WD_SPAWN_STAGE_NICENESS;
    long result = CALL(__NR_setpriority, 0, 0, niceness, 0, 0);
    if (launch->has_niceness) check(launch, result);
}

/* With no_new_privs, execve(2) does not give them back to root: capabilities(7). Ambient ones go with the permitted. */
WD_CHILD static void drop_capabilities(struct wd_launch *launch) {
    struct __user_cap_header_struct header;
    header.version = _LINUX_CAPABILITY_VERSION_3;
    header.pid = 0;
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        none[i].effective = 0;
        none[i].permitted = 0;
        none[i].inheritable = 0;
    }
    check(launch, CALL(__NR_capset, &header, none, 0, 0, 0));
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

/* Done with the program's credentials and within its time limit, unlike a read by the supervisor. Without O_NONBLOCK,
 * opening a FIFO waits for a writer. */
WD_CHILD static void read_head(struct wd_launch *launch) {
    struct wd_spawn_outcome *outcome = &launch->outcome;
    outcome->head_length = -1;
    long file = CALL(__NR_openat, AT_FDCWD, launch->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0, 0);
    if (file < 0) return;
    long length = CALL(__NR_read, file, outcome->head, sizeof outcome->head, 0, 0);
    outcome->head_length = length < 0 ? 0 : (int)length;
    CALL(__NR_close, file, 0, 0, 0, 0);
}

/* Shells distinguish scripts from foreign binaries by a first line without NUL. */
WD_CHILD static bool looks_like_script(const struct wd_spawn_outcome *outcome) {
    for (int i = 0; i < outcome->head_length && outcome->head[i] != '\n'; i++) {
        if (outcome->head[i] == 0) return false;
    }
    return true;
}

WD_CHILD static void execute(struct wd_launch *launch, enum hold hold) {
    launch->outcome.stage = WD_SPAWN_STAGE_EXECUTE;
    launch->outcome.index = 0;
    if (hold != HOLD_NONE) wait_for_leave(launch, hold);
    unsigned long no_signals = 0;
    CALL(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, &no_signals, NULL, sizeof no_signals, 0);
    long result = CALL(__NR_execve, launch->path, launch->arguments, launch->environment, 0, 0);
    if (result == -ENOENT || result == -ENOEXEC) read_head(launch);
    if (result == -ENOEXEC && looks_like_script(&launch->outcome)) {
        static const char shell[] = "/bin/sh";
        launch->outcome.index = 1;
        launch->arguments[0] = (char *)launch->path;
        launch->arguments[-1] = (char *)shell;
        result = CALL(__NR_execve, shell, launch->arguments - 1, launch->environment, 0, 0);
    }
    fail(launch, result);
}

WD_CHILD void wd_spawn_child(const struct wd_spawn_birth *birth) {
    struct wd_launch *launch = map(birth);
    enum hold hold = report_birth(birth);

    launch->outcome.stage = WD_SPAWN_STAGE_CGROUP;
    send_outcome(launch);
    if (birth->moves) move_to_cgroup(launch, birth->descriptors[PASSED + launch->cgroup]);

    launch->outcome.stage = WD_SPAWN_STAGE_SESSION;
    set_session(launch, birth);

    launch->outcome.stage = WD_SPAWN_STAGE_DESCRIPTOR;
    place_descriptors(launch);
    launch->outcome.stage = WD_SPAWN_STAGE_CLOSE;
    close_others(launch);

    launch->outcome.stage = WD_SPAWN_STAGE_LIMIT;
    set_limits(launch);
    set_scheduling(launch, &birth->scheduling);
    if (launch->oom_score_adjustment != NULL) {
        launch->outcome.stage = WD_SPAWN_STAGE_OOM_SCORE;
        set_oom_score(launch, launch->oom_score_adjustment);
    }
    if (launch->file_mode_mask >= 0) CALL(__NR_umask, launch->file_mode_mask, 0, 0, 0, 0);
    if (launch->no_new_privileges) {
        launch->outcome.stage = WD_SPAWN_STAGE_NO_NEW_PRIVILEGES;
        check(launch, CALL(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    }

    /* Set the groups while still privileged, and the user last; enter the working directory with the app's own
     * credentials. */
    if (launch->has_credentials) {
        launch->outcome.stage = WD_SPAWN_STAGE_GROUPS;
        check(launch, CALL(__NR_setgroups, launch->group_count, launch->groups, 0, 0, 0));
        launch->outcome.stage = WD_SPAWN_STAGE_GROUP;
        check(launch, CALL(__NR_setresgid, launch->group, launch->group, launch->group, 0, 0));
        launch->outcome.stage = WD_SPAWN_STAGE_USER;
        check(launch, CALL(__NR_setresuid, launch->user, launch->user, launch->user, 0, 0));
    }
    if (launch->drops_capabilities) {
        launch->outcome.stage = WD_SPAWN_STAGE_CAPABILITIES;
        drop_capabilities(launch);
    }
    if (launch->directory != NULL) {
        launch->outcome.stage = WD_SPAWN_STAGE_DIRECTORY;
        check(launch, CALL(__NR_chdir, launch->directory, 0, 0, 0, 0));
    }
    for (size_t i = 0; i < launch->pid_text_count; i++) write_pid(launch->pid_texts[i]);
    execute(launch, hold);
}
