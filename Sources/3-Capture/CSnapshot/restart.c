/* SPDX-License-Identifier: Apache-2.0
 *
 * A ptrace(2) stop interrupts the thread's system call. The kernel restarts most calls by itself; some, such as
 * epoll_wait(2) and semop(2), return EINTR although no handler has run: signal(7), "Interruption of system calls and
 * library functions by stop signals". Few programs expect that.
 */
#include "internal.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#if defined(__x86_64__)

/* ERESTARTNOHAND of include/linux/errno.h: the call is restarted, or returns EINTR if a handler runs first. */
enum { repeat_unless_handled = 514 };

/* Makes the kernel restart the interrupted system call when the thread continues. Its timeout then starts again, so
 * a sleeping thread must not be stopped. It works for 32-bit programs, too: the registers have the same names for
 * every tracee. close(2) is never restarted: it has closed the descriptor, whatever it returns. */
void wd_spare_call(pid_t tid) {
    errno = 0;
    int call = (int)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user_regs_struct, orig_rax), NULL);
    if (errno != 0 || call < 0 || call == SYS_close) return;
    int result = (int)ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user_regs_struct, rax), NULL);
    if (errno == 0 && result == -EINTR)
        ptrace(PTRACE_POKEUSER, tid, offsetof(struct user_regs_struct, rax), (long)-repeat_unless_handled);
}

#else
#error "Only x86-64 is supported: what a call returns is in another register elsewhere."
#endif
