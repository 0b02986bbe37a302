/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_process.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int wd_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int wd_copy_descriptor(pid_t process, int number) {
    int pidfd = wd_pidfd_open(process);
    if (pidfd < 0) return -1;
    int copy = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    int error = errno;
    close(pidfd);
    errno = error;
    return copy;
}

int wd_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

/* linux/pidfd.h of Linux 6.9. */
enum { SIGNAL_PROCESS_GROUP = 1 << 2 };

int wd_pidfd_signal_group(int pidfd, pid_t leader, int signal) {
    int result = (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, SIGNAL_PROCESS_GROUP);
    if (result == 0 || errno != EINVAL) return result;
    /* kill(2) reads 0 and -1 as "our own group" and "everything". */
    if (leader <= 1) return errno = ESRCH, -1;
    if (wd_pidfd_send_signal(pidfd, 0) < 0 && errno == ESRCH) return -1;
    return kill(-leader, signal);
}

static int64_t microseconds(struct timeval time) { return (int64_t)time.tv_sec * 1000000 + time.tv_usec; }

static enum wd_change change_of(int code) {
    switch (code) {
    case CLD_EXITED: return WD_CHANGE_EXITED;
    case CLD_KILLED: return WD_CHANGE_KILLED;
    case CLD_DUMPED: return WD_CHANGE_DUMPED;
    case CLD_STOPPED:
    case CLD_TRAPPED: return WD_CHANGE_STOPPED;
    case CLD_CONTINUED: return WD_CHANGE_CONTINUED;
    default: return WD_CHANGE_NONE;
    }
}

/* glibc's waitid omits the kernel's fifth parameter. */
static int wait_once(int type, int id, int options, struct wd_wait_result *result) {
    siginfo_t info;
    struct rusage usage;
    memset(&info, 0, sizeof info);
    memset(&usage, 0, sizeof usage);
    memset(result, 0, sizeof *result);
    if (syscall(SYS_waitid, type, id, &info, options | WNOHANG, &usage) < 0) return -1;
    if (info.si_pid == 0) return 0;
    result->change = change_of(info.si_code);
    result->pid = info.si_pid;
    result->status = info.si_status;
    result->user_microseconds = microseconds(usage.ru_utime);
    result->system_microseconds = microseconds(usage.ru_stime);
    result->max_resident_kilobytes = usage.ru_maxrss;
    result->major_faults = usage.ru_majflt;
    result->minor_faults = usage.ru_minflt;
    result->voluntary_switches = usage.ru_nvcsw;
    result->involuntary_switches = usage.ru_nivcsw;
    result->input_blocks = usage.ru_inblock;
    return 0;
}

/* Without __WNOTHREAD, a wait also sees processes that other threads of this process trace, and would consume the
 * events that a capturing thread waits for. The second attempt finds children of other threads. */
static int wait_child(int type, int id, int options, struct wd_wait_result *result) {
    int answer = wait_once(type, id, options | __WNOTHREAD, result);
    if (answer == 0 || errno != ECHILD) return answer;
    return wait_once(type, id, options, result);
}

int wd_wait_pidfd(int pidfd, enum wd_wait_what what, struct wd_wait_result *result) {
    return wait_child(P_PIDFD, pidfd, what == WD_WAIT_EXIT ? WEXITED : WSTOPPED | WCONTINUED, result);
}

int wd_reap_pidfd(int pidfd, bool waits) {
    siginfo_t info = {0};
    while (syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | __WALL | (waits ? 0 : WNOHANG), NULL) < 0)
        if (errno != EINTR) return -1;
    return info.si_pid != 0;
}

int wd_wait_pid(pid_t pid, struct wd_wait_result *result) { return wait_child(P_PID, pid, WEXITED, result); }

/* Orphans become children of the main thread (find_new_reaper, kernel/exit.c). On any other thread, as in tests of a
 * supervisor, the children of all threads must be considered. */
int wd_peek_ended_child(struct wd_wait_result *result) {
    int own = getpid() == gettid() ? __WNOTHREAD : 0;
    return wait_once(P_ALL, 0, WEXITED | WNOWAIT | own, result);
}

int wd_peek_changed_child(struct wd_wait_result *result) {
    int own = getpid() == gettid() ? __WNOTHREAD : 0;
    return wait_once(P_ALL, 0, WEXITED | WSTOPPED | WCONTINUED | WNOWAIT | own, result);
}

int wd_wait_pid_change(pid_t pid, struct wd_wait_result *result) {
    return wait_once(P_PID, pid, WEXITED | WSTOPPED | WCONTINUED, result);
}

/* include/uapi/linux/pidfd.h in Linux 6.15; older systems' headers lack it. */
struct pidfd_information {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t pid, tgid, ppid;
    uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_information) == 64, "PIDFD_INFO_SIZE_VER0");

#define WD_PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_information)
#define WD_PIDFD_INFO_CGROUP (UINT64_C(1) << 2)
#define WD_PIDFD_INFO_EXIT (UINT64_C(1) << 3)

static int exit_information(int pidfd, uint64_t wanted, struct pidfd_information *information) {
    memset(information, 0, sizeof *information);
    information->mask = wanted;
    if (ioctl(pidfd, WD_PIDFD_GET_INFO, information) < 0) return -1;
    if ((information->mask & wanted) == wanted) return 0;
    errno = ENODATA;
    return -1;
}

int wd_pidfd_exit_cgroup(int pidfd, uint64_t *cgroup) {
    struct pidfd_information information;
    if (exit_information(pidfd, WD_PIDFD_INFO_EXIT | WD_PIDFD_INFO_CGROUP, &information) < 0) return -1;
    *cgroup = information.cgroup;
    return 0;
}

int wd_pidfd_exit_status(int pidfd, struct wd_wait_result *result) {
    struct pidfd_information information;
    memset(result, 0, sizeof *result);
    if (exit_information(pidfd, WD_PIDFD_INFO_EXIT, &information) < 0) return -1;
    int status = information.exit_code;
    if (WIFEXITED(status)) {
        result->change = WD_CHANGE_EXITED;
        result->status = WEXITSTATUS(status);
    } else {
        result->change = WCOREDUMP(status) ? WD_CHANGE_DUMPED : WD_CHANGE_KILLED;
        result->status = WTERMSIG(status);
    }
    return 0;
}

int wd_set_child_subreaper(bool on) { return prctl(PR_SET_CHILD_SUBREAPER, on ? 1UL : 0UL, 0UL, 0UL, 0UL); }

int wd_get_child_subreaper(void) {
    int on = 0;
    if (prctl(PR_GET_CHILD_SUBREAPER, &on, 0UL, 0UL, 0UL) < 0) return -1;
    return on;
}

bool wd_may_change_user(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    uint32_t needed = 1U << CAP_SETUID | 1U << CAP_SETGID;
    return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & needed) == needed;
}
