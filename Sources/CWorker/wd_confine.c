/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process may no longer do that parses what strangers have written: seccomp(2) and landlock(7).
 */
#include "wd_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the architecture has no name for seccomp here"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define DENY_NUMBER(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), FAIL(EPERM)
#define DENY(call) DENY_NUMBER(SYS_##call)
/* If the lower half of an argument passes a test, or if it does not. Loads the number again. */
#define DENY_IF(call, index, test, value, passed, failed, error)                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                                    \
        BPF_JUMP(BPF_JMP | (test) | BPF_K, value, passed, failed), FAIL(error), LOAD(nr)
#define DENY_BITS(call, index, bits, error) DENY_IF(call, index, BPF_JSET, bits, 0, 1, error)
#define DENY_VALUE(call, index, value) DENY_IF(call, index, BPF_JEQ, value, 0, 1, EPERM)
#define DENY_UNLESS(call, index, value) DENY_IF(call, index, BPF_JEQ, value, 1, 0, EPERM)

/* Numbers that the headers of older systems lack; from 424 on all architectures have the same. */
enum {
    number_memfd_secret = 447,
    number_process_mrelease = 448,
    number_fchmodat2 = 452,
    number_setxattrat = 463,
    number_removexattrat = 466,
    number_open_tree_attr = 467,
    number_file_setattr = 469,
    /* What came after Linux 6.17 is not known to be harmless. */
    last_known_number = 469,
};

static const unsigned writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

/* No sockets, no programs, nothing written to or changed in a file system; no other process is looked at, signalled,
 * or changed in what it may use. */
static int filter_calls(void)
{
    const unsigned own = (unsigned)getpid();
    struct sock_filter program[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        /* The x32 ABI has numbers of its own for the same calls. */
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
        FAIL(EPERM),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last_known_number, 0, 1),
        FAIL(ENOSYS),
        DENY_BITS(openat, 2, writing, EACCES),
#ifdef SYS_open
        DENY_BITS(open, 1, writing, EACCES),
        DENY(creat), DENY(unlink), DENY(rename), DENY(mkdir), DENY(rmdir), DENY(link), DENY(symlink), DENY(mknod),
        DENY(chmod), DENY(chown), DENY(lchown), DENY(utime), DENY(utimes), DENY(futimesat),
#endif
        DENY_BITS(clone, 0, CLONE_NEWUSER, EPERM),
        /* Their arguments are in memory, where a filter cannot look; glibc does without them. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1), FAIL(ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1), FAIL(ENOSYS),
        DENY(socket), DENY(socketpair), DENY(io_uring_setup), DENY(execve), DENY(execveat),
        /* raise(3) and abort(3) signal a thread of their own process. */
        DENY(kill), DENY(tkill), DENY_UNLESS(tgkill, 0, own), DENY(rt_sigqueueinfo), DENY(rt_tgsigqueueinfo),
        DENY(pidfd_open), DENY(pidfd_send_signal), DENY(setsid), DENY(setpgid),
        /* A descriptor can be made to signal anybody: fcntl(2), "Managing signals". */
        DENY_VALUE(fcntl, 1, F_SETOWN), DENY_VALUE(fcntl, 1, F_SETSIG), DENY_VALUE(fcntl, 1, F_SETOWN_EX),
        /* getrlimit(3) is prlimit of process 0, which is the caller. */
        DENY_UNLESS(prlimit64, 0, 0), DENY(setpriority), DENY(ioprio_set), DENY(sched_setparam),
        DENY(sched_setscheduler), DENY(sched_setattr), DENY(sched_setaffinity), DENY(migrate_pages), DENY(move_pages),
        DENY(ptrace), DENY(process_vm_readv), DENY(process_vm_writev), DENY(pidfd_getfd), DENY(kcmp),
        DENY(process_madvise), DENY_NUMBER(number_process_mrelease),
        DENY(unlinkat), DENY(renameat), DENY(renameat2), DENY(mkdirat), DENY(linkat), DENY(symlinkat), DENY(mknodat),
        DENY(fchmod), DENY(fchmodat), DENY(fchown), DENY(fchownat), DENY(utimensat), DENY(truncate), DENY(ftruncate),
        DENY(setxattr), DENY(lsetxattr), DENY(fsetxattr), DENY(removexattr), DENY(lremovexattr), DENY(fremovexattr),
        DENY_NUMBER(number_fchmodat2), DENY_NUMBER(number_setxattrat), DENY_NUMBER(number_removexattrat),
        DENY_NUMBER(number_file_setattr), DENY(fallocate), DENY(open_by_handle_at), DENY(mq_open), DENY(mq_unlink),
        /* Attributes and flags of files, what is typed on a terminal; what asks for a terminal is told it is none. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1), FAIL(ENOTTY),
        DENY(mount), DENY(umount2), DENY(pivot_root), DENY(chroot), DENY(unshare), DENY(setns), DENY(move_mount),
        DENY(open_tree), DENY_NUMBER(number_open_tree_attr), DENY(fsopen), DENY(fspick), DENY(mount_setattr),
        DENY(quotactl_fd), DENY(memfd_create), DENY_NUMBER(number_memfd_secret), DENY(userfaultfd), DENY(bpf),
        DENY(perf_event_open),
        DENY(add_key), DENY(request_key), DENY(keyctl), DENY(fanotify_init), DENY(shmget), DENY(msgget), DENY(semget),
        DENY(shmat), DENY(shmctl), DENY(msgsnd), DENY(msgrcv), DENY(msgctl), DENY(semop), DENY(semtimedop),
        DENY(semctl),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof program / sizeof *program, program };
    /* Older kernels slow a filtered process down against speculation; no stranger's code runs here, only their data. */
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
}

/* No file is opened by name but for reading in these folders. What is open already stays usable. */
static int restrict_files(const char *const *folders, size_t count)
{
    /* Version 1, Linux 5.13: EXECUTE (bit 0) to MAKE_SYM (bit 12). */
    struct landlock_ruleset_attr rules = { .handled_access_fs = (1 << 13) - 1 };
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0);
    if (set < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct landlock_path_beneath_attr rule = {
            .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
            .parent_fd = open(folders[i], O_PATH | O_DIRECTORY | O_CLOEXEC),
        };
        if (rule.parent_fd < 0)
            continue;
        syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
        close(rule.parent_fd);
    }
    int result = (int)syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
    return result;
}

unsigned wd_worker_confine(const char *const *folders, size_t count)
{
    unsigned confined = 0;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (restrict_files(folders, count) == 0)
        confined |= WD_CONFINED_FILES;
    if (filter_calls() == 0)
        confined |= WD_CONFINED_CALLS;
    return confined;
}
