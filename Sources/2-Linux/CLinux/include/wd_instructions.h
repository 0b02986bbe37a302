/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions that programs execute in user mode: perf_event_open(2).
 */
#pragma once
#include <stdint.h>

/* Opens a counter for all programs that the calling thread and its descendants execute from now on, from their execve(2)
 * on; what does not call execve(2) is not counted. ENOENT: the CPU, or the virtual machine, has no such counter. EACCES,
 * EPERM: kernel.perf_event_paranoid or a filter forbids it. A descriptor, or -1 with errno. */
int wd_instructions_open(void);

/* The sum so far, with that of programs that still run; -1 if other counters took turns with this one, so that it misses
 * some, or with errno. */
int64_t wd_instructions_read(int counter);
