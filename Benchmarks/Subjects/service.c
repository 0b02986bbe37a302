/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: service [answer | stubborn | PATH]
 *
 * Writes down the time of its first instructions, and waits to be ended. "answer": it says on descriptor 3 that it is ready,
 * and answers pings there. "stubborn": it writes down when SIGTERM comes, and goes on. PATH: a FIFO that it writes to, for
 * supervisors that give it no standard output. Anything else, such as the service's name that s6 gives it, says nothing.
 * Ten thousand of it have to fit.
 */
#include "first.h"

enum { TERMINATE = 15, WRITE_ONLY = 1 };

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

static void resist(void) {
    const uint64_t set = 1 << (TERMINATE - 1);
    call4(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&set, 0, sizeof set);
    write_record(1, RECORD_SETTLED, now());
    for (;;) {
        long signal = call4(SYS_rt_sigtimedwait, (long)&set, 0, 0, sizeof set);
        int64_t time = now();
        if (signal == TERMINATE) write_record(1, RECORD_SIGN_OF_LIFE, time);
    }
}

static int equal(const char *left, const char *right) {
    while (*left && *left == *right) left++, right++;
    return *left == *right;
}

__attribute__((noreturn, used)) static void begin(const long *stack) {
    int64_t time = now();
    const char *mode = stack[0] > 1 ? (const char *)stack[2] : "";
    if (mode[0] == '/') {
        long fifo = call(SYS_open, (long)mode, WRITE_ONLY, 0);
        write_record((int)fifo, RECORD_ENTRY, time);
        call(SYS_close, fifo, 0, 0);
    } else {
        write_record(1, RECORD_ENTRY, time);
    }
    if (equal(mode, "answer")) answer();
    if (equal(mode, "stubborn")) resist();
    /* s6 restarts at once only what has said that it is ready: by a newline, on the descriptor that it was told. */
    if (equal((const char *)stack[1], "run")) call(SYS_write, 3, (long)"\n", 1);
    for (;;) call(SYS_pause, 0, 0, 0);
}

__attribute__((naked, noreturn)) void _start(void) {
    __asm__("mov %rsp, %rdi\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin");
}
