/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits what a process may do that parses files from untrusted sources: seccomp(2) and landlock(7).
 */
#include "wd_worker.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "wd_seccomp.h"

static const unsigned writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

/* The calls that glibc, the Swift runtime, libelf and libdw make in a single-threaded process to read files and to
 * write an answer. Memory is neither executable nor shared, so RLIMIT_DATA counts all of it. */
static int filter_calls(void)
{
    struct sock_filter program[] = {
        CHECK_ARCHITECTURE,
        ALLOW(pread64), ALLOW(read), ALLOW(lseek), ALLOW(close), ALLOW(fstat), ALLOW(newfstatat), ALLOW(statx),
        ALLOW(readlinkat), ALLOW(getcwd), ALLOW(faccessat), ALLOW(faccessat2), ALLOW(dup),
        ALLOW_WITHOUT(openat, 2, writing),
#ifdef SYS_open
        ALLOW(stat), ALLOW(lstat), ALLOW(readlink), ALLOW(access), ALLOW_WITHOUT(open, 1, writing),
#endif
        /* Other commands can make a descriptor signal any process: fcntl(2), "Managing signals". */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5), LOAD(args[1]),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, F_GETFL, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_DUPFD_CLOEXEC, 1, 0), REFUSE, RETURN(SECCOMP_RET_ALLOW),
        ALLOW_UP_TO(write, 0, STDERR_FILENO), ALLOW_UP_TO(writev, 0, STDERR_FILENO),
        ALLOW(brk), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 6), LOAD(args[2]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0), LOAD(args[3]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0), RETURN(SECCOMP_RET_ALLOW), REFUSE,
        ALLOW(futex), ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(sysinfo), ALLOW(getrandom),
        ALLOW(clock_gettime), ALLOW(clock_nanosleep), ALLOW(restart_syscall),
        ALLOW(getpid), ALLOW(gettid), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid),
        ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack),
        /* raise(3) and abort(3) signal a thread of their own process; getrlimit(3) passes process 0, the caller. */
        ALLOW_VALUE(tgkill, 0, (unsigned)getpid()), ALLOW_VALUE(prlimit64, 0, 0),
        ALLOW(exit), ALLOW(exit_group),
        REFUSE,
    };
    struct sock_fprog filter = { sizeof program / sizeof *program, program };
    /* By default, kernels before 5.16 disable speculation in a filtered process, which slows it down. That defends
     * against the process's own code; here, only the data is untrusted. */
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
}

/* Files can be opened by name only for reading, and only in these folders. Open files stay usable. */
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
    /* Without CAP_SYS_ADMIN, seccomp(2) and landlock_restrict_self(2) require it. */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (restrict_files(folders, count) == 0)
        confined |= WD_CONFINED_FILES;
    if (filter_calls() == 0)
        confined |= WD_CONFINED_CALLS;
    return confined;
}
