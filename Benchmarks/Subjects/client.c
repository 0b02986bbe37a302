/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: client launch SOCKET NAME [COUNT] | wait SOCKET NAME COUNT [all] | reload SOCKET | write FIFO BYTES |
 *               kill PID | exec PROGRAM [ARGUMENT…]
 *
 * Asks a supervisor from a process of its own, with the scheduling of one. It writes down the time right before it
 * connects, opens, kills or executes. With COUNT, "launch" asks for NAME0, NAME1, … on one connection, one after the
 * other. "wait" does the same and waits until each is ready, with "all" for all of them at once; it also writes down when
 * it has all answers.
 */
#include "record.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void write_record(int64_t time) {
    struct record record = {.pid = getpid(), .kind = RECORD_SETTLED, .monotonic_nanoseconds = time};
    if (write(STDOUT_FILENO, &record, sizeof record) != sizeof record) _exit(1);
}

static int connected(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : descriptor;
}

/* A call and its answer, both with a NUL at the end: varlink.org. */
static int ask(int descriptor, const char *call) {
    static char answer[1 << 16];
    size_t length = strlen(call) + 1;
    if (write(descriptor, call, length) != (ssize_t)length) return 1;
    ssize_t count;
    char first = 0, last;
    do {
        count = read(descriptor, answer, sizeof answer);
        if (count <= 0) return 1;
        last = answer[count - 1];
        if (first == 0) first = strncmp(answer, "{\"error\"", 8) == 0 ? 'e' : 'a';
    } while (last != 0);
    return first == 'e';
}

static int launch(const char *path, const char *name, int count) {
    char call[512];
    int64_t time = now();
    int descriptor = connected(path), result = descriptor < 0;
    for (int index = 0; index < (count > 0 ? count : 1) && result == 0; index++) {
        char number[16] = "";
        if (count > 0) snprintf(number, sizeof number, "%d", index);
        snprintf(call, sizeof call,
            "{\"method\":\"org.watchdogd.Supervisor.Launch\",\"parameters\":{\"name\":\"%.200s%s\"}}", name, number);
        result = ask(descriptor, call);
    }
    write_record(time);
    return result;
}

/* Reads answers until there are so many; none of them may be an error. */
static int await(int descriptor, int answers) {
    static char bytes[1 << 16];
    static const char error[] = "{\"error\"";
    size_t place = 0;
    while (answers > 0) {
        ssize_t count = read(descriptor, bytes, sizeof bytes);
        if (count <= 0) return 1;
        for (ssize_t index = 0; index < count; index++) {
            if (place < sizeof error - 1 && bytes[index] == error[place]) {
                if (++place == sizeof error - 1) return 1;
            } else {
                place = sizeof error;
            }
            if (bytes[index] == 0) answers--, place = 0;
        }
    }
    return 0;
}

static int launch_and_wait(const char *path, const char *name, int count, int at_once) {
    char call[512];
    int64_t time = now();
    int descriptor = connected(path), result = descriptor < 0;
    for (int index = 0; index < count && result == 0; index++) {
        int length = snprintf(call, sizeof call,
            "{\"method\":\"org.watchdogd.Supervisor.Launch\",\"parameters\":{\"name\":\"%.200s%d\",\"wait\":true}}",
            name, index);
        result = write(descriptor, call, length + 1) != length + 1 || (!at_once && await(descriptor, 1) != 0);
    }
    if (result == 0 && at_once) result = await(descriptor, count);
    write_record(time);
    write_record(now());
    return result;
}

static int reload(const char *path) {
    int64_t time = now();
    int descriptor = connected(path);
    /* The answer may take longer than the services, whose records the observer waits for. */
    int result = descriptor < 0 || ask(descriptor, "{\"method\":\"org.watchdogd.Supervisor.Reload\"}");
    write_record(time);
    return result;
}

int main(int count, char **arguments) {
    const char *mode = count > 2 ? arguments[1] : "";
    if (strcmp(mode, "launch") == 0 && count > 3)
        return launch(arguments[2], arguments[3], count > 4 ? atoi(arguments[4]) : 0);
    if (strcmp(mode, "wait") == 0 && count > 4)
        return launch_and_wait(arguments[2], arguments[3], atoi(arguments[4]), count > 5);
    if (strcmp(mode, "reload") == 0) return reload(arguments[2]);
    int64_t time = now();
    if (strcmp(mode, "write") == 0 && count > 3) {
        int fifo = open(arguments[2], O_WRONLY | O_NONBLOCK);
        size_t length = strlen(arguments[3]);
        int result = fifo < 0 || write(fifo, arguments[3], length) != (ssize_t)length;
        write_record(time);
        return result;
    }
    if (strcmp(mode, "kill") == 0) {
        int result = kill(atoi(arguments[2]), SIGKILL);
        write_record(time);
        return result != 0;
    }
    if (strcmp(mode, "exec") == 0) {
        write_record(now());
        execv(arguments[2], arguments + 2);
        return 1;
    }
    return 64;
}
