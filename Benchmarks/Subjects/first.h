/* SPDX-License-Identifier: Apache-2.0
 *
 * For programs that read CLOCK_MONOTONIC in their first instructions and write it down. No libc: what is measured is
 * execve, not the dynamic linker. x86-64.
 */
#pragma once
#include "record.h"

#include <sys/syscall.h>

struct kernel_timespec {
    int64_t seconds, nanoseconds;
};

static long call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

static void record_entry(void) {
    struct kernel_timespec time = {0};
    call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)&time, 0);
    struct record record = {
        .pid = (int32_t)call(SYS_getpid, 0, 0, 0),
        .kind = RECORD_ENTRY,
        .monotonic_nanoseconds = time.seconds * 1000000000 + time.nanoseconds,
    };
    call(SYS_write, 1, (long)&record, sizeof record);
}
