/* SPDX-License-Identifier: Apache-2.0
 *
 * A stop by ptrace(2) ends the system call that the thread is in. The kernel itself repeats most calls afterwards; some,
 * such as epoll_wait(2) and semop(2), return EINTR although no handler has run: signal(7), "Interruption of system calls
 * and library functions by stop signals". Few programs expect that.
 */
#include "internal.h"

#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#if defined(__x86_64__)

/* ERESTARTNOHAND of include/linux/errno.h: the call is repeated, or returns EINTR if a handler runs first. */
enum { repeat_unless_handled = 514 };

/* Lets the call that the stop has interrupted be repeated when the thread continues. Its timeout then begins anew, so a
 * thread that sleeps must not be stopped. Of programs of another machine mode, too: these registers have the same names
 * for every tracee. close(2) has closed the descriptor, whatever it returns. */
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
