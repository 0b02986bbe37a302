/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: service [answer | notify | push | stubborn] [PATH]
 *
 * Records the time of its first instructions and waits for a signal. "answer" reports on descriptor 3 that it is ready, and
 * answers pings there. "notify" sends READY=1 to NOTIFY_SOCKET; "push" sends WATCHDOG=1 each second besides. "stubborn"
 * records the arrival of SIGTERM and ignores it. PATH is a FIFO for the records, for supervisors that provide no standard
 * output. Any other argument, such as the service's name from s6, is ignored. Ten thousand instances have to fit.
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

static int equal(const char *left, const char *right) {
    while (*left && *left == *right) left++, right++;
    return *left == *right;
}

/* The environment follows the arguments and a null pointer: the System V ABI. */
static const char *notify_socket(const long *stack) {
    static const char name[] = "NOTIFY_SOCKET=";
    for (const char *const *entry = (const char *const *)stack + stack[0] + 2; *entry; entry++) {
        unsigned long length = 0;
        while (length < sizeof name - 1 && (*entry)[length] == name[length]) length++;
        if (length == sizeof name - 1) return *entry + length;
    }
    return "";
}

static void notify(const char *path, int pushes) {
    static const char ready[] = "READY=1", alive[] = "WATCHDOG=1";
    struct {
        uint16_t family;
        char path[108];
    } address = {.family = 1 /* AF_UNIX */};
    unsigned long length = 0;
    while (path[length] && length < sizeof address.path - 1) address.path[length] = path[length], length++;
    if (length == 0) return;
    if (path[0] == '@') address.path[0] = 0;
    long descriptor = call(SYS_socket, 1 /* AF_UNIX */, 2 /* SOCK_DGRAM */, 0);
    if (call(SYS_connect, descriptor, (long)&address, sizeof address.family + length + (path[0] != '@')) != 0) return;
    call(SYS_write, descriptor, (long)ready, sizeof ready - 1);
    /* Spread over the second, as those of programs that have nothing to do with each other are. */
    struct kernel_timespec wait = {.nanoseconds = call(SYS_getpid, 0, 0, 0) % 500 * 2000000};
    while (pushes) {
        call(SYS_nanosleep, (long)&wait, 0, 0);
        wait = (struct kernel_timespec){.seconds = 1};
        call(SYS_write, descriptor, (long)alive, sizeof alive - 1);
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

__attribute__((noreturn, used)) static void begin(const long *stack) {
    int64_t time = now();
    const char *mode = stack[0] > 1 ? (const char *)stack[2] : "";
    const char *path = stack[0] > 2 ? (const char *)stack[3] : mode;
    if (path[0] == '/') {
        long fifo = call(SYS_open, (long)path, WRITE_ONLY, 0);
        write_record((int)fifo, RECORD_ENTRY, time);
        call(SYS_close, fifo, 0, 0);
    } else {
        write_record(1, RECORD_ENTRY, time);
    }
    if (equal(mode, "answer")) answer();
    if (equal(mode, "stubborn")) resist();
    if (equal(mode, "notify") || equal(mode, "push")) notify(notify_socket(stack), equal(mode, "push"));
    /* s6 restarts a service without a pause only if it has reported readiness: by a newline on the descriptor that it got. */
    if (equal((const char *)stack[1], "run")) call(SYS_write, 3, (long)"\n", 1);
    for (;;) call(SYS_pause, 0, 0, 0);
}

__attribute__((naked, noreturn)) void _start(void) {
    __asm__("mov %rsp, %rdi\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin");
}
