/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: service [answer]
 *
 * Reads CLOCK_MONOTONIC in its first instructions, writes it down, and waits to be ended; with an argument it says on
 * descriptor 3 that it is ready, and answers pings there. No libc: ten thousand of it have to fit. x86-64.
 */
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

/* "PING=<nonce>\n" goes back as "PONG=<nonce>\n". */
static void answer(void) {
    static const char hello[] = "HELLO=1\nREADY=1\n";
    char message[4096];
    call(SYS_write, 3, (long)hello, sizeof hello - 1);
    for (;;) {
        long length = call(SYS_read, 3, (long)message, sizeof message);
        if (length <= 0) return;
        if (length < 5 || message[0] != 'P' || message[1] != 'I') continue;
        message[1] = 'O';
        call(SYS_write, 3, (long)message, length);
    }
}

__attribute__((noreturn, used)) static void begin(long arguments) {
    struct kernel_timespec time = {0};
    call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)&time, 0);
    struct record record = {
        .pid = (int32_t)call(SYS_getpid, 0, 0, 0),
        .kind = RECORD_ENTRY,
        .monotonic_nanoseconds = time.seconds * 1000000000 + time.nanoseconds,
    };
    call(SYS_write, 1, (long)&record, sizeof record);
    if (arguments > 1) answer();
    for (;;) call(SYS_pause, 0, 0, 0);
}

__attribute__((naked, noreturn)) void _start(void) {
    __asm__("mov (%rsp), %rdi\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin");
}
