/* SPDX-License-Identifier: Apache-2.0
 *
 * A child process for work that may crash, hang or exhaust memory: parsing untrusted input.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes this process leave no core file and refuse ptrace: its memory holds another process's stacks. Children
 * inherit it. */
void wd_worker_seal(void);

/* fork(2) for a process with one thread. In the child: fatal signals have their default action (the Swift runtime's
 * handlers would spend seconds on a backtrace), the address space is limited to `address_space` bytes and its private
 * writable part to `memory` bytes, and the death of the parent kills it. Returns like fork(2); may be called any number
 * of times. */
pid_t wd_worker_fork(uint64_t address_space, uint64_t memory);

/* Has libdebuginfod find the separate debug file of a build-id in hexadecimal, in its cache or on the servers of
 * $DEBUGINFOD_URLS, and stores the file's path in `*path`, to be freed by the caller. Returns 0, or a negative error
 * number. Without an installed library, it returns 0 and stores NULL. */
int wd_debuginfod_find(const char *build_id, char **path);

enum wd_confined { WD_CONFINED_FILES = 1, WD_CONFINED_CALLS = 2 };

/* Restricts this process, permanently, to system calls that read files, manage private memory that is not
 * executable, write to standard output and error, and exit (seccomp(2)); all others fail with EPERM. Files can be
 * opened only for reading below `folders` (landlock(7)); open files stay usable. Returns which of the two mechanisms
 * the kernel has enabled. */
unsigned wd_worker_confine(const char *const *folders, size_t count);
