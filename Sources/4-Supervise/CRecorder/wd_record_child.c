/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_record_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The kernel's layout: glibc's struct sigaction differs. */
struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* After a raw clone only raw system calls are safe: another thread may have held one of libc's locks, and does not
   exist in the child to release it. */
static void execute(const char *path, char **arguments, char *const *environment, bool runs_by_shell, int inherited,
                    int gate, int status) {
    uint64_t no_signals = 0;
    struct kernel_action action = {0};
    char byte;
    syscall(SYS_rt_sigaction, SIGPIPE, &action, NULL, sizeof no_signals);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, sizeof no_signals);
    /* Without close-on-exec, the program gets the descriptor under the same number. */
    if (inherited >= 0) syscall(SYS_fcntl, inherited, F_SETFD, 0);
    while (true) {
        long count = syscall(SYS_read, gate, &byte, 1);
        if (count == 1) break;
        /* End of file: the recorder has closed the gate, or has died. */
        if (count == 0 || errno != EINTR) syscall(SYS_exit_group, 127);
    }
    syscall(SYS_execve, path, arguments, environment);
    if (errno == ENOEXEC && runs_by_shell) {
        static char shell[] = "/bin/sh";
        arguments[0] = (char *)path;
        arguments[-1] = shell;
        syscall(SYS_execve, shell, arguments - 1, environment);
    }
    int error = errno;
    syscall(SYS_write, status, &error, sizeof error);
    syscall(SYS_exit_group, 127);
}

int wd_record_child_hold(const char *path, char **arguments, char *const *environment, bool runs_by_shell, int inherited,
                         struct wd_record_child *child) {
    int gate[2], status[2];
    if (pipe2(gate, O_CLOEXEC) < 0) return -1;
    if (pipe2(status, O_CLOEXEC) < 0) goto without_status;
    /* Creates the child and its pidfd atomically: the parent can reap it only through the pidfd. */
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &child->pidfd, 0, 0);
    if (pid < 0) goto without_child;
    if (pid == 0) {
        syscall(SYS_close, gate[1]);
        execute(path, arguments, environment, runs_by_shell, inherited, gate[0], status[1]);
    }
    close(gate[0]);
    close(status[1]);
    child->pid = pid;
    child->gate = gate[1];
    child->status = status[0];
    return 0;

    int error;
without_child:
    error = errno;
    close(status[0]);
    close(status[1]);
    errno = error;
without_status:
    error = errno;
    close(gate[0]);
    close(gate[1]);
    errno = error;
    return -1;
}

bool wd_record_has_capabilities(const char *path) { return getxattr(path, "security.capability", NULL, 0) > 0; }

int wd_record_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGQUIT);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0) return -1;
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int wd_record_next_signal(int descriptor, bool *from_kernel) {
    struct signalfd_siginfo information;
    if (read(descriptor, &information, sizeof information) != sizeof information) return 0;
    *from_kernel = information.ssi_code > 0;
    return (int)information.ssi_signo;
}

int wd_record_is_listening(int pidfd, int descriptor) {
    int copy = (int)syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    if (copy < 0) return -1;
    int accepts = 0;
    socklen_t length = sizeof accepts;
    int result = getsockopt(copy, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length);
    int error = errno;
    close(copy);
    errno = error;
    return result < 0 ? -1 : accepts != 0;
}

int wd_record_close_elsewhere(const int *descriptors, size_t count, pid_t *child) {
    int gone[2], pidfd = -1;
    size_t first = 0;
    int made = count > 0 ? pipe2(gone, O_CLOEXEC) : -1;
    /* Without a free descriptor, close three here, for the pipe and the pidfd, slow as that is; and more while other
     * threads take the freed numbers. */
    for (; made != 0 && first < count && errno == EMFILE; made = pipe2(gone, O_CLOEXEC)) close(descriptors[first++]);
    if (made == 0) {
        /* Without an exit signal, so that the caller's SIGCHLD handling does not notice this child. */
        pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD, 0, &pidfd, 0, 0);
        for (; pid < 0 && errno == EMFILE && first < count; pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD, 0, &pidfd, 0, 0))
            close(descriptors[first++]);
        *child = pid;
        if (pid == 0) {
            char byte;
            /* The child must not keep a pipe open: a reader of our output would wait for it. */
            for (int i = 0; i < 3; i++) syscall(SYS_close, i);
            syscall(SYS_close, gone[1]);
            syscall(SYS_setsid);
            syscall(SYS_read, gone[0], &byte, 1);
            syscall(SYS_exit_group, 0);
        }
    }
    for (size_t i = first; i < count; i++) close(descriptors[i]);
    if (made == 0) {
        close(gone[0]);
        close(gone[1]);
    }
    return pidfd;
}
