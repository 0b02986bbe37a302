/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_record_trace.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/user.h>
#include <sys/wait.h>

int wd_record_seize(pid_t process) {
    return (int)ptrace(PTRACE_SEIZE, process, NULL, (void *)(long)PTRACE_O_TRACEEXEC);
}

static int64_t microseconds(struct timeval time) { return (int64_t)time.tv_sec * 1000000 + time.tv_usec; }

static enum wd_record_change stop_of(int status) {
    switch (status >> 16) {
    case PTRACE_EVENT_EXEC: return WD_RECORD_EXECUTED;
    /* PTRACE_INTERRUPT reports SIGTRAP, a group-stop the signal that caused it: ptrace(2). */
    case PTRACE_EVENT_STOP: return WSTOPSIG(status) == SIGTRAP ? WD_RECORD_INTERRUPTED : WD_RECORD_SUSPENDED;
    default: return WD_RECORD_SIGNALED;
    }
}

int wd_record_wait(pid_t process, bool may_reap, struct wd_record_event_of_process *event) {
    int status;
    struct rusage usage;
    memset(event, 0, sizeof *event);
    if (!may_reap) {
        siginfo_t stop = {0};
        int options = WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL;
        if (waitid(P_PID, (id_t)process, &stop, options) < 0) return -1;
        if (stop.si_pid == 0 || (stop.si_code != CLD_TRAPPED && stop.si_code != CLD_STOPPED)) return 0;
    }
    pid_t found = wait4(process, &status, __WALL | WNOHANG, &usage);
    if (found < 0) return -1;
    if (found == 0) return 0;
    if (WIFSTOPPED(status)) {
        event->change = stop_of(status);
        event->number = WSTOPSIG(status);
        return 0;
    }
    event->change = WIFEXITED(status) ? WD_RECORD_EXITED : WD_RECORD_KILLED;
    event->number = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    event->user_microseconds = microseconds(usage.ru_utime);
    event->system_microseconds = microseconds(usage.ru_stime);
    event->max_resident_kilobytes = usage.ru_maxrss;
    event->major_faults = usage.ru_majflt;
    event->minor_faults = usage.ru_minflt;
    event->blocks_read = usage.ru_inblock;
    return 0;
}

int wd_record_continue(pid_t process, int signal) {
    return (int)ptrace(PTRACE_CONT, process, NULL, (void *)(long)signal);
}

/* PTRACE_CONT would end the group-stop: ptrace(2). */
int wd_record_stay_suspended(pid_t process) { return (int)ptrace(PTRACE_LISTEN, process, NULL, NULL); }
int wd_record_interrupt(pid_t process) { return (int)ptrace(PTRACE_INTERRUPT, process, NULL, NULL); }

int wd_record_release(pid_t process, int signal) {
    return (int)ptrace(PTRACE_DETACH, process, NULL, (void *)(long)signal);
}

#ifdef __x86_64__
static int poke(pid_t process, int index, uint64_t value) {
    size_t offset = offsetof(struct user, u_debugreg) + (size_t)index * sizeof(unsigned long);
    return (int)ptrace(PTRACE_POKEUSER, process, (void *)offset, (void *)value);
}

int wd_record_set_breakpoints(pid_t process, const uint64_t *addresses, int count) {
    uint64_t control = 0;
    if (poke(process, 7, 0) < 0) return -1;
    if (count > 4) return errno = EINVAL, -1;
    for (int i = 0; i < count; i++) {
        if (poke(process, i, addresses[i]) < 0) return -1;
        control |= 1ull << (2 * i);
    }
    return count == 0 ? 0 : poke(process, 7, control);
}

int wd_record_breakpoint_hit(pid_t process) {
    size_t offset = offsetof(struct user, u_debugreg) + 6 * sizeof(unsigned long);
    errno = 0;
    long hits = ptrace(PTRACE_PEEKUSER, process, (void *)offset, NULL);
    if (errno != 0 || (hits & 15) == 0) return 0;
    poke(process, 6, 0);
    return (int)(hits & 15);
}
#else
int wd_record_set_breakpoints(pid_t process, const uint64_t *addresses, int count) {
    (void)process, (void)addresses, (void)count;
    return errno = ENOSYS, -1;
}

int wd_record_breakpoint_hit(pid_t process) {
    (void)process;
    return 0;
}
#endif
