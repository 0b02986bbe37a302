// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "zoo.h"

volatile unsigned long sink;
static pthread_barrier_t started;
static int ready[2];

static struct {
    const char *name;
    void (*hang)(void);
} kinds[256];
static size_t count_of_kinds;

void zoo_add(const char *name, void (*hang)(void)) {
    if (count_of_kinds == sizeof kinds / sizeof kinds[0]) abort();
    kinds[count_of_kinds].name = name;
    kinds[count_of_kinds++].hang = hang;
}

void fail(const char *what) {
    perror(what);
    _exit(3);
}

void *sleep_for_ever(void *unused) {
    (void)unused;
    for (;;) sleep(1000);
    return NULL;
}

pthread_t start(void *(*body)(void *), void *argument, const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) != 0) fail("pthread_create");
    pthread_setname_np(thread, name);
    return thread;
}

void wait_until_started(void) { pthread_barrier_wait(&started); }

pid_t child(void (*body)(void)) {
    char byte;
    if (pipe(ready) != 0) fail("pipe");
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        body();
        sleep_for_ever(NULL);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) fail("child");
    close(ready[0]);
    return child;
}

void child_is_ready(void) {
    if (write(ready[1], "!", 1) != 1) fail("write");
    close(ready[1]);
}

static void say(int channel, const char *text) {
    if (send(channel, text, strlen(text), 0) < 0) fail("send");
}

static void answer_ping(int channel) {
    char text[512], answer[128];
    for (;;) {
        ssize_t length = recv(channel, text, sizeof text - 1, 0);
        if (length <= 0) fail("recv");
        text[length] = '\0';
        const char *ping = strstr(text, "PING=");
        if (ping == NULL) continue;
        snprintf(answer, sizeof answer, "PONG=%llu", strtoull(ping + 5, NULL, 10));
        say(channel, answer);
        return;
    }
}

// A busy program that still answers, for this many milliseconds.
static void answer_for(int channel, long milliseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        struct pollfd entry = {.fd = channel, .events = POLLIN};
        if (poll(&entry, 1, 1) > 0) answer_ping(channel);
        for (int i = 0; i < 1000000; i++) sink++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < milliseconds);
}

__attribute__((noinline)) static void handle_event(void (*hang)(void)) {
    hang();
    sink++;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    const char *descriptor = getenv("WATCHDOG_CHANNEL");
    int channel = descriptor == NULL ? -1 : atoi(descriptor);
    pthread_barrier_init(&started, NULL, 2);
    char hello[64];
    snprintf(hello, sizeof hello, "HELLO=1\nPID=%d", getpid());
    if (channel >= 0) {
        say(channel, hello);
        say(channel, "READY=1");
        answer_ping(channel);
    }
    if (strcmp(name, "busy_but_answering") == 0) {
        answer_for(channel, 2000);
        return 0;
    }
    // Hangs for this many milliseconds, and then continues.
    if (strcmp(name, "hang_and_recover") == 0) {
        answer_ping(channel);
        usleep(1000 * (useconds_t)atoi(arguments[2]));
        answer_for(channel, 500);
        return 0;
    }
    for (size_t i = 0; i < count_of_kinds; i++)
        if (strcmp(name, kinds[i].name) == 0) handle_event(kinds[i].hang);
    fprintf(stderr, "zoo: no kind \"%s\"\n", name);
    return 2;
}
