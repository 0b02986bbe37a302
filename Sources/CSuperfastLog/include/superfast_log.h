/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * A logger that is so fast because it does the expensive thing once, before main: it compares the CPU's counter with the
 * clock for 415 ms ($SAMPLE_TIME_SCALE times as long), so that it need not ask for the time later. A program pays for this if it
 * is linked with the logger, whether it logs anything or not.
 */

/* When that began and ended, in nanoseconds of CLOCK_BOOTTIME. */
uint64_t superfast_log_began(void);
uint64_t superfast_log_ended(void);

/* Writes one line to standard error, with the time since the program's start in microseconds. */
void superfast_log(const char *message);
