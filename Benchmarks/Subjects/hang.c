/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: hang SIGNS MICROSECONDS [SERVER]
 *
 * A program that sends READY=1 and WATCHDOG=1 to NOTIFY_SOCKET, then WATCHDOG=1 SIGNS times more, MICROSECONDS apart,
 * and then hangs: in pause, or in a wait for the answer of the server with the Unix socket SERVER. Without NOTIFY_SOCKET
 * it only hangs.
 *
 * With NOTIFY_SOCKET a second process, the witness, only waits for its end. It has real-time priority where that is
 * permitted, so that its end shows when SIGKILL came and not when there was a CPU for dying.
 */
#include "record.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void write_record(enum record_kind kind, int64_t time) {
    struct record record = {.pid = getpid(), .kind = kind, .monotonic_nanoseconds = time};
    if (write(STDOUT_FILENO, &record, sizeof record) != sizeof record) _exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int connect_to(const char *path, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) return -1;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') address.sun_path[0] = '\0';
    int descriptor = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, size) != 0) return -1;
    return descriptor;
}

static void give_sign(int descriptor, const char *message) {
    int64_t time = now();
    if (send(descriptor, message, strlen(message), 0) < 0) _exit(1);
    write_record(RECORD_SIGN_OF_LIFE, time);
}

static void start_witness(void) {
    if (fork() != 0) return;
    alarm(120);
    struct sched_param parameters = {.sched_priority = 2};
    sched_setscheduler(0, SCHED_RR, &parameters);
    write_record(RECORD_WITNESS, now());
    for (;;) pause();
}

/* What a client of a database does. */
__attribute__((noinline)) static void fetch_row(int server) {
    char byte = '?';
    if (write(server, &byte, 1) != 1 || read(server, &byte, 1) < 0) _exit(1);
}

int main(int argc, char **argv) {
    write_record(RECORD_ENTRY, now());
    /* Nothing is left behind when a benchmark ends early. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(120);
    const char *path = getenv("NOTIFY_SOCKET");
    int server = -1;
    if (path != NULL) {
        int descriptor = connect_to(path, SOCK_DGRAM);
        if (descriptor < 0) return 1;
        start_witness();
        if (argc > 3 && (server = connect_to(argv[3], SOCK_STREAM)) < 0) return 1;
        long signs = argc > 1 ? atol(argv[1]) : 0, microseconds = argc > 2 ? atol(argv[2]) : 0;
        give_sign(descriptor, "READY=1\nWATCHDOG=1");
        struct timespec interval = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
        for (long i = 0; i < signs; i++) {
            nanosleep(&interval, NULL);
            give_sign(descriptor, "WATCHDOG=1");
        }
    }
    write_record(RECORD_SETTLED, now());
    if (server >= 0) fetch_row(server);
    for (;;) pause();
}
