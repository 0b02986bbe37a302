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

static inline long call4(long number, long first, long second, long third, long fourth) {
    register long r10 __asm__("r10") = fourth;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(first), "S"(second), "d"(third), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long call(long number, long first, long second, long third) {
    return call4(number, first, second, third, 0);
}

static inline int64_t now(void) {
    struct kernel_timespec time = {0};
    call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)&time, 0);
    return time.seconds * 1000000000 + time.nanoseconds;
}

static inline void write_record(int descriptor, int32_t kind, int64_t time) {
    struct record record = {
        .pid = (int32_t)call(SYS_getpid, 0, 0, 0),
        .kind = kind,
        .monotonic_nanoseconds = time,
    };
    call(SYS_write, descriptor, (long)&record, sizeof record);
}

static inline void record_entry(void) { write_record(1, RECORD_ENTRY, now()); }
