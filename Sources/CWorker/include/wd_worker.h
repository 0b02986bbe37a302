/* SPDX-License-Identifier: Apache-2.0
 *
 * A child process for work that may crash, hang or eat memory: parsing what strangers have written.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes this process leave no core file and refuse ptrace: its memory holds another process's stacks. Children
 * inherit it. */
void wd_worker_seal(void);

/* fork(2) for a process with one thread. In the child: fatal signals have their default action (the Swift runtime's
 * handlers would spend seconds on a backtrace), the address space is limited to `address_space` bytes, and the death of
 * the parent kills it. Returns like fork(2); may be called any number of times. */
pid_t wd_worker_fork(uint64_t address_space);

/* Has libdebuginfod find the separate debug file of a build-id in hexadecimal, in its cache or on the servers of
 * $DEBUGINFOD_URLS, and stores the file's path in `*path`, to be freed by the caller. Returns 0, or a negative error
 * number. Where the library is not installed, it returns 0 and stores NULL. */
int wd_debuginfod_find(const char *build_id, char **path);

enum wd_confined { WD_CONFINED_FILES = 1, WD_CONFINED_CALLS = 2 };

/* Takes from this process and its children, for good: sockets, the start of programs, looks at other processes and
 * signals to them, every change of a file system (seccomp(2)), and opening files other than for reading below `folders`
 * (landlock(7)). What is open stays usable. System calls that are newer than this list are refused as if the kernel did
 * not have them. Returns which of both the kernel has done; what it does not know, the caller goes without. */
unsigned wd_worker_confine(const char *const *folders, size_t count);
