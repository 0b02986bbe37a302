/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher's loop: wait for a request, clone, answer.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "wd_close_range.h"
#include "wd_scheduling.h"
#include "wd_spawn_child.h"

enum { SOCKET = 0, PASSED = 2, SIGNALS = 64, POLICY_RR = 2 };

struct passed {
    int numbers[WD_LAUNCHER_MAX_DESCRIPTORS];
    size_t count;
};

/* False at the end of the socket. A malformed request has no descriptors. */
WD_CHILD static bool receive(struct wd_launcher_request *request, struct passed *passed) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * WD_LAUNCHER_MAX_DESCRIPTORS)];
    } control;
    struct iovec vector;
    vector.iov_base = request;
    vector.iov_len = sizeof *request;
    struct msghdr message;
    wd_prepare(&message, &vector, &control, sizeof control);
    passed->count = 0;
    long length = CALL(__NR_recvmsg, SOCKET, &message, MSG_CMSG_CLOEXEC, 0, 0);
    if (length == -EINTR || length == -ENOMEM || length == -ENOBUFS) return true;
    if (length <= 0) return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (length != sizeof *request || header == NULL || header->cmsg_type != SCM_RIGHTS ||
        (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0)
        return true;
    const int *numbers = (const int *)CMSG_DATA(header);
    passed->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < passed->count; i++) passed->numbers[i] = numbers[i];
    return true;
}

/* CLONE_PARENT: the child is a sibling and has the launcher's own exit signal. */
WD_CHILD static long clone3_child(int cgroup) {
    struct clone_args arguments;
    for (size_t i = 0; i < sizeof arguments / sizeof(uint64_t); i++) ((volatile uint64_t *)&arguments)[i] = 0;
    arguments.flags = CLONE_PARENT;
    if (cgroup >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = (uint64_t)cgroup;
    }
    return CALL(__NR_clone3, &arguments, sizeof arguments, 0, 0, 0);
}

WD_CHILD static long clone_somehow(int cgroup, bool without_clone3, bool *moves) {
    *moves = false;
    long pid = without_clone3 ? -ENOSYS : clone3_child(cgroup);
    if (pid >= 0 || pid == -EAGAIN || pid == -ENOMEM) return pid;
    *moves = cgroup >= 0;
    if (*moves && !without_clone3) pid = clone3_child(-1);
    /* The seccomp filters of systemd's RestrictNamespaces= and of Docker make clone3 fail with ENOSYS, older ones with
     * EPERM. */
    if (pid == -ENOSYS || pid == -EPERM) pid = CALL(__NR_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    return pid;
}

/* If the launch was given up, nobody reads the answer. */
WD_CHILD static void report_failure(int status, long result) {
    struct wd_launcher_answer answer;
    answer.pid = -1;
    answer.error = (int)-result;
    CALL(__NR_sendto, status, &answer, sizeof answer, MSG_NOSIGNAL, 0);
}

WD_CHILD static void launch(const struct wd_launcher_request *request, const struct passed *passed,
                            const struct wd_scheduling *scheduling) {
    int cgroup = -1;
    if (request->cgroup >= 0 && (size_t)request->cgroup + PASSED < passed->count)
        cgroup = passed->numbers[PASSED + request->cgroup];

    struct wd_spawn_birth birth;
    long result = clone_somehow(cgroup, request->without_clone3, &birth.moves);
    if (result < 0) report_failure(passed->numbers[0], result);
    if (result != 0) return;
    birth.descriptors = passed->numbers;
    birth.length = request->length;
    birth.in_pipe = request->in_pipe;
    birth.held = request->held;
    birth.scheduling = *scheduling;
    wd_spawn_child(&birth);
}

/* Handlers would run with the thread-local storage of a process that is gone. All signals stay blocked. */
WD_CHILD static void reset_signals(void) {
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action;
    action.handler = NULL;
    action.flags = 0;
    action.restorer = NULL;
    action.mask = 0;
    for (int signal = 1; signal <= SIGNALS; signal++)
        CALL(__NR_rt_sigaction, signal, &action, NULL, sizeof action.mask, 0);
}

/* If any mapping in a range is sealed, as the vDSO may be, the kernel rejects the whole range: mseal(2). */
WD_CHILD static bool unmap(uint64_t start, uint64_t end, uint64_t page) {
    long result = CALL(__NR_munmap, start, end - start, 0, 0, 0);
    if (result == -EINVAL) return false;
    if (result == 0 || end - start <= page) return true;
    uint64_t middle = start + (end - start) / 2 / page * page;
    return unmap(start, middle, page) && unmap(middle, end, page);
}

WD_CHILD static bool forget_restartable_sequences(uint64_t address) {
#if defined(__x86_64__)
    const uint32_t signature = 0x53053053;
#else
    const uint32_t signature = 0xd428bc00;
#endif
    enum { UNREGISTER = 1, STEP = 32, LARGEST = 1024 };
    if (address == 0) return true;
    /* The kernel requires the length of the registration, which glibc does not reveal. */
    for (long length = STEP; length <= LARGEST; length += STEP) {
        if (CALL(__NR_rseq, address, length, UNREGISTER, signature, 0) == 0) return true;
    }
    return false;
}

/* Unmaps everything except the code and the stack. Every program's process begins as a copy of what is left: the less
 * it is, the faster the copy, and none of watchdogd's memory is in it. */
WD_CHILD static void shrink(const struct wd_launcher_memory *memory) {
    enum { BELOW = 64 << 10, ABOVE = 16 << 10, HIGHEST_BIT = 56, LOWEST_BIT = 38 };
    if (memory->kept_count == 0 || !forget_restartable_sequences(memory->restartable_sequences)) return;
    uint64_t page = memory->page;
    uint64_t stack = (uint64_t)__builtin_frame_address(0) & ~(page - 1);
    uint64_t end = 0;
    /* Code lies below stacks on every architecture that wd_raw_syscall.h supports. */
    for (int i = 0; i < memory->kept_count; i++) {
        uint64_t start = memory->kept[i].start;
        if (end < start) unmap(end, start, page);
        end = memory->kept[i].end;
        if (memory->kept[i].changed)
            wd_raw_syscall6(__NR_mmap, (long)start, (long)(end - start), PROT_READ, MAP_PRIVATE | MAP_FIXED, memory->file,
                            (long)memory->kept[i].offset);
    }
    unmap(end, stack - BELOW, page);
    for (int bit = HIGHEST_BIT; bit > LOWEST_BIT; bit--) {
        if (unmap(stack + ABOVE, (UINT64_C(1) << bit) - page, page)) return;
    }
}

WD_CHILD void wd_launcher_serve(const struct wd_launcher_birth *parent) {
    static const char name[] = "wd-launcher";
    CALL(__NR_prctl, PR_SET_NAME, name, 0, 0, 0);
    /* For an ordinary user, files in /proc/self would then belong to root, and that user's processes may trace each
     * other anyway. */
    if (CALL(__NR_geteuid, 0, 0, 0, 0, 0) == 0) CALL(__NR_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    reset_signals();
    int socket = parent->socket;
    struct wd_scheduling scheduling = parent->attributes.scheduling;
    CALL(__NR_prlimit64, 0, RLIMIT_NOFILE, &parent->attributes.open_files, NULL, 0);
    CALL(__NR_prlimit64, 0, RLIMIT_RTTIME, &parent->attributes.real_time, NULL, 0);
    int priority = WD_PRECEDENCE;
    if (parent->precedence) CALL(__NR_sched_setscheduler, 0, POLICY_RR | SCHED_RESET_ON_FORK, &priority, 0, 0);
    /* This also unmaps the caller's frame. */
    shrink(&parent->memory);
    if (socket != SOCKET) CALL(__NR_dup3, socket, SOCKET, O_CLOEXEC, 0, 0);
    wd_close_range(SOCKET + 1, ~0U);

    struct wd_launcher_request request;
    struct passed passed;
    while (receive(&request, &passed)) {
        if (passed.count >= PASSED) launch(&request, &passed, &scheduling);
        wd_close_range(SOCKET + 1, ~0U);
    }
    for (;;) CALL(__NR_exit_group, 0, 0, 0, 0, 0);
}
