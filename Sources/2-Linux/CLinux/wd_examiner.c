/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_examiner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "wd_copier.h"
#include "wd_scheduling.h"
#include "wd_seccomp.h"
#include "wd_source.h"

static bool is_permitted(int capability) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    return syscall(SYS_capget, &header, data) == 0 && (data[0].permitted & 1U << capability) != 0;
}

/* A container may lack one of them, and capset(2) fails for what is not permitted. */
static uint32_t kept_capabilities(void) {
    static const int wanted[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_IPC_OWNER};
    uint32_t kept = 0;
    for (unsigned index = 0; index < sizeof wanted / sizeof *wanted; index++)
        if (is_permitted(wanted[index])) kept |= 1U << wanted[index];
    return kept;
}

static void keep_capabilities(uint32_t kept) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
    syscall(SYS_capset, &header, data);
}

/* How much a process may compute without waiting, in microseconds: an examiner, which is killed if it computes for longer
 * than any examination takes, and a copier during the longest capture. */
enum { EXAMINING = 200000, COPYING = 10000000 };

/* Examinations and captures race with a kill, so they run at real-time priority. */
static void take_precedence(void) {
    struct rlimit limit;
    struct sched_param parameters = {.sched_priority = WD_PRECEDENCE};
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0) return;
    if (limit.rlim_cur > EXAMINING) limit.rlim_cur = EXAMINING;
    if (setrlimit(RLIMIT_RTTIME, &limit) == 0) sched_setscheduler(0, SCHED_RR, &parameters);
}

/* Whether this process may compute for that long at real-time priority. */
static bool extend_precedence(void) {
    struct rlimit limit;
    if (sched_getscheduler(0) != SCHED_RR || getrlimit(RLIMIT_RTTIME, &limit) != 0 || limit.rlim_max < COPYING)
        return false;
    limit.rlim_cur = COPYING;
    return setrlimit(RLIMIT_RTTIME, &limit) == 0;
}

static void drop_rights(uid_t user) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (geteuid() != 0) return;
    /* As root of a container: without this capability, a process may look only at those of its own user that have no
     * capability that it lacks (ptrace(2)), and the program keeps the container's. */
    if (!is_permitted(CAP_SYS_PTRACE)) return;
    uint32_t kept = kept_capabilities();
    /* Without this, changing from user 0 clears all capabilities. */
    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (capability > 31 || (kept & 1U << capability) == 0)
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    /* If that is refused, as setgroups(2) in some user namespaces, the process stays user 0, which only root may signal. */
    if (user != 0 && setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0) (void)!setresuid(user, user, user);
    keep_capabilities(kept);
    /* After the last change of credentials, which may set it: PR_SET_DUMPABLE(2const). */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void wd_become_examiner_source(int kept, uid_t user, pid_t parent) {
    wd_become_source(kept);
    /* Whether it was forked or executed as /proc/self/exe. */
    prctl(PR_SET_NAME, "watchdogd", 0, 0, 0);
    take_precedence();
    drop_rights(user);
    /* Changing the user clears it: prctl(2). */
    wd_die_with(parent);
}

pid_t wd_fork_examiner_source(int kept, uid_t user) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) wd_become_examiner_source(kept, user, parent);
    return child;
}

void wd_end_examiner_source(void) {
    /* Its process group is the source and what it has forked. */
    signal(SIGUSR1, SIG_IGN);
    kill(0, SIGUSR1);
    wd_end_after_children(WD_SOURCE_PATIENCE);
}

/* The calls that the C library and the Swift runtime need in a single-threaded process, and those that read. All others
 * fail. */
static void allow_reading(void) {
    struct sock_filter program[] = {
        CHECK_ARCHITECTURE,
        ALLOW(read), ALLOW(pread64), ALLOW(readlinkat), ALLOW(getdents64), ALLOW(close), ALLOW(lseek), ALLOW(fstat),
        ALLOW(newfstatat), ALLOW(statx), ALLOW(faccessat), ALLOW(faccessat2), ALLOW(getxattr),
        ALLOW(pidfd_open), ALLOW(pidfd_getfd), ALLOW(getsockname), ALLOW(getpeername), ALLOW(getsockopt),
        ALLOW(process_vm_readv), ALLOW(sendto), ALLOW(sendmsg), ALLOW(recvfrom), ALLOW(recvmsg), ALLOW(setitimer),
        ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(brk), ALLOW(futex),
        ALLOW(clock_gettime), ALLOW(getrandom), ALLOW(getpid), ALLOW(gettid), ALLOW(rt_sigreturn),
        ALLOW(rt_sigprocmask), ALLOW(rt_sigaction), ALLOW(sched_getaffinity), ALLOW(exit), ALLOW(exit_group),
        ALLOW(restart_syscall),
#ifdef SYS_readlink
        ALLOW(readlink), ALLOW(access), ALLOW(stat), ALLOW(lstat),
#endif
        /* Checks whether a process exists: signal 0. */
        ALLOW_VALUE(kill, 1, 0),
        /* Who has last changed a semaphore: of all sets with CAP_IPC_OWNER, and nothing else. */
        ALLOW_VALUE(semctl, 2, GETPID),
        /* All flags are in the lower half of the argument. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4), LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0),
        RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ERRNO | EACCES),
        /* The lengths of a socket's queues. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5), LOAD(args[1]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCINQ, 1, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SIOCOUTQ, 0, 1),
        RETURN(SECCOMP_RET_ALLOW), REFUSE,
        /* sock_diag(7) only queries the kernel. */
        ALLOW_VALUE(socket, 0, AF_NETLINK),
        REFUSE,
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
}

static pid_t fork_reader(int kept) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child;
    dup2(kept, WD_SOURCE_LINK);
    close(kept);
    signal(SIGCHLD, SIG_DFL);
    wd_die_with(parent);
    return 0;
}

pid_t wd_fork_examiner(int kept) {
    pid_t child = fork_reader(kept);
    if (child == 0) allow_reading();
    return child;
}

pid_t wd_fork_copier(int kept) {
    pid_t child = fork_reader(kept);
    if (child != 0) return child;
    prctl(PR_SET_NAME, "wd-copier", 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    bool is_urgent = extend_precedence();
    allow_reading();
    wd_copy_serve(WD_SOURCE_LINK, is_urgent);
}

void wd_die_after(unsigned milliseconds) {
    struct itimerval timer = {
        .it_value = {.tv_sec = milliseconds / 1000, .tv_usec = (suseconds_t)(milliseconds % 1000) * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}
