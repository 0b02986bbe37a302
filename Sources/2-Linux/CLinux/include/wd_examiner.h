/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes for reads that may never return: creation, privileges and termination. fork(2), capabilities(7),
 * seccomp(2).
 */
#pragma once
#include <sys/types.h>

/* Forks the process from which examiners are forked. The child has its own session, no descriptor except `kept` (as 3),
 * /dev/null as its standard streams, default signal dispositions except for SIGTERM, SIGINT and SIGHUP, which it
 * ignores, and children that need no reaping; it dies with the calling thread.
 *
 * As root, the child keeps only CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH and CAP_IPC_OWNER, becomes `user` and the group of that number, or stays
 * user 0 if `user` is 0 or that is refused, and is not dumpable. Root without CAP_SYS_PTRACE, as in a
 * container, keeps its rights, because it could examine nothing without them.
 * The calling process must have one thread: the child uses more than the async-signal-safe part of the C library.
 * Returns like fork(2). */
pid_t wd_fork_examiner_source(int kept, uid_t user);

/* Makes this process one like that, for a program that was executed for it; ends it if its parent is not `parent`. */
void wd_become_examiner_source(int kept, uid_t user, pid_t parent);

/* Kills all examiners and copiers, and ends once they have ended; one that does not end is left. Called in the source. */
_Noreturn void wd_end_examiner_source(void);

/* Forks an examiner; called in the source. The child has `kept` as 3 and permits itself only system calls that read.
 * Returns like fork(2). */
pid_t wd_fork_examiner(int kept);

/* Forks a copier with the same rights, which serves the connection `kept` until its end, as wd_copier.h says. Nothing of it
 * can be read, not even by processes of its own user. Returns in the source alone: its id, or -1 with errno. */
pid_t wd_fork_copier(int kept);

/* Makes the kernel kill this process after `milliseconds`, even in a system call that only a fatal signal interrupts; 0
 * cancels that. */
void wd_die_after(unsigned milliseconds);
