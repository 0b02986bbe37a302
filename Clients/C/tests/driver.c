/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Does what it reads on standard input, one command a line, from a loop of poll(2), and prints what the library says.
 * With an argument, it has a lifecycle.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "watchdog-poll.h"

static struct watchdog *watchdog;
static int answer = WATCHDOG_DONE;
static int detaches;
static unsigned turns;

static void terminate(struct watchdog *self, void *context)
{
    (void)self;
    printf("terminate %s\n", (const char *)context);
}

static int change_state(struct watchdog *self, int state, uint64_t id, void *context)
{
    (void)context;
    printf("state %s %" PRIu64 "\n", state == WATCHDOG_FOREGROUND ? "foreground" : "background", id);
    if (detaches) {
        watchdog_detach(self);
        watchdog = NULL;
    }
    return answer;
}

static int handle_event(struct watchdog *self, const char *kind, const char *payload, uint64_t id, void *context)
{
    const char *sender = watchdog_event_sender(self);
    (void)context;
    printf("event %s %" PRIu64 " %zu %s", kind, id, strlen(payload), payload);
    if (sender) printf(" from %zu %s", strlen(sender), sender);
    puts(watchdog_event_sender(NULL) ? "?" : "");
    return answer;
}

static void take_time(struct watchdog *self, int64_t microseconds, void *context)
{
    (void)self;
    (void)context;
    printf("time %" PRId64 "\n", microseconds);
}

static void expire(struct watchdog *self, void *context)
{
    (void)self;
    (void)context;
    puts("expire");
}

static void lose(struct watchdog *self, void *context)
{
    (void)context;
    printf("disconnected %d\n", watchdog_descriptor(self));
}

static void wake(void *context)
{
    (void)context;
    puts("wake");
}

static void attach(unsigned flags)
{
    watchdog = watchdog_attach(flags);
    watchdog_on_terminate(watchdog, terminate, "now");
    watchdog_on_state(watchdog, change_state, NULL);
    watchdog_on_event(watchdog, handle_event, NULL);
    watchdog_on_background_time(watchdog, take_time, NULL);
    watchdog_on_expire(watchdog, expire, NULL);
    watchdog_on_disconnected(watchdog, lose, NULL);
}

static int64_t now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Sends that many different messages as fast as possible. */
static void talk(int count)
{
    char text[64];
    int64_t began_us = now_us();
    for (int index = 1; index <= count; index++) {
        snprintf(text, sizeof text, "word %d", index);
        watchdog_status(watchdog, text);
    }
    printf("talked %" PRId64 "\n", now_us() - began_us);
}

static void *talk_on_thread(void *count)
{
    for (int index = 0; index < *(int *)count; index++) {
        uint64_t task = watchdog_begin_task(watchdog, "thread");
        watchdog_extend(watchdog, 1000, "progress");
        watchdog_end_task(watchdog, task);
    }
    return NULL;
}

static void talk_on_threads(int count)
{
    pthread_t threads[4];
    for (int index = 0; index < 4; index++) pthread_create(&threads[index], NULL, talk_on_thread, &count);
    for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
    puts("talked");
}

static void *serve_on_thread(void *context)
{
    (void)context;
    struct pollfd waits[1];
    puts("serving");
    watchdog_poll(watchdog, waits, 1, 20000);
    return NULL;
}

/* A child that has not called execve says nothing, and reads nothing. */
static void fork_and_speak(void)
{
    pid_t child = fork();
    if (child == 0) {
        watchdog_ready(watchdog);
        watchdog_service(watchdog);
        int is_silent = watchdog_descriptor(watchdog) == -1 && watchdog_timeout_ms(watchdog) == -1;
        watchdog_detach(watchdog);
        _exit(is_silent ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("forked %d\n", status);
}

static void obey(char *command)
{
    char *text = strchr(command, ' ');
    if (text) *text++ = 0;
    uint64_t number = text ? strtoull(text, NULL, 10) : 0;
#define IS(name) (strcmp(command, name) == 0)
    if (IS("ready")) watchdog_ready(watchdog);
    else if (IS("frame")) watchdog_first_frame(watchdog);
    else if (IS("useful")) watchdog_useful(watchdog);
    else if (IS("stopping")) watchdog_stopping(watchdog);
    else if (IS("status")) watchdog_status(watchdog, text);
    else if (IS("lines")) watchdog_status(watchdog, "one\ntwo\rthree\xFF");
    else if (IS("summary")) watchdog_summary(watchdog, text);
    else if (IS("extend")) watchdog_extend(watchdog, number, strchr(text, ' ') + 1);
    else if (IS("begin")) printf("task %" PRIu64 "\n", watchdog_begin_task(watchdog, text));
    else if (IS("end")) watchdog_end_task(watchdog, number);
    else if (IS("begin-launch")) printf("launch %d\n", watchdog_begin_launch_task(watchdog, text));
    else if (IS("end-launch")) printf("launch %d\n", watchdog_end_launch_task(watchdog, text));
    else if (IS("begin-signpost")) printf("signpost %" PRIu64 "\n", watchdog_begin_signpost(watchdog, "photos", text));
    else if (IS("end-signpost")) watchdog_end_signpost(watchdog, number, "photos", strchr(text, ' ') + 1);
    else if (IS("signpost")) watchdog_signpost(watchdog, "tab\tbed", text, "more");
    else if (IS("signposts")) {
        for (uint64_t count = 0; count < number; count++) watchdog_signpost(watchdog, "many", "mark", NULL);
    } else if (IS("later")) answer = number ? WATCHDOG_LATER : WATCHDOG_DONE;
    else if (IS("state-done")) watchdog_state_done(watchdog, number);
    else if (IS("event-done")) watchdog_event_done(watchdog, number);
    else if (IS("talk")) talk((int)number);
    else if (IS("threads")) talk_on_threads((int)number);
    else if (IS("thread-service")) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve_on_thread, NULL);
        pthread_join(thread, NULL);
    } else if (IS("deaf")) watchdog_on_event(watchdog, NULL, NULL);
    else if (IS("wake")) watchdog_on_wake(watchdog, wake, NULL);
    else if (IS("fork")) fork_and_speak();
    else if (IS("children")) {
        fflush(stdout);
        if (system("env | grep ^WATCHDOG_; ls -l /proc/self/fd | grep socket; echo end")) return;
    } else if (IS("sleep")) usleep((useconds_t)number * 1000);
    else if (IS("turns")) {
        printf("turns %u\n", turns);
        turns = 0;
    } else if (IS("detach-in-callback")) detaches = 1;
    else if (IS("detach")) {
        watchdog_detach(watchdog);
        watchdog = NULL;
    } else if (IS("again")) {
        struct watchdog *other = watchdog_attach(0);
        printf("again %d %d\n", other == NULL, errno == EALREADY);
    } else if (IS("ask")) {
        const char *event = watchdog_launch_event(watchdog);
        printf("supervised %d descriptor %d timeout %d state %d event %s left %d\n", watchdog_is_supervised(watchdog),
            watchdog_descriptor(watchdog) >= 0, watchdog_timeout_ms(watchdog), watchdog_state(watchdog),
            event ? event : "-", (int)(watchdog_background_microseconds(watchdog) / 1000000));
    }
}

int main(int count, char **arguments)
{
    static char pending[65536];
    size_t length = 0;
    (void)arguments;
    setvbuf(stdout, NULL, _IOLBF, 0);
    attach(count > 1 ? WATCHDOG_LIFECYCLE : 0);
    for (;;) {
        struct pollfd waits[] = {{0}, {.fd = STDIN_FILENO, .events = POLLIN}};
        int ready = watchdog_poll(watchdog, waits, 2, -1);
        turns++;
        if (ready <= 0 || waits[1].revents == 0) continue;
        ssize_t added = read(STDIN_FILENO, pending + length, sizeof pending - length);
        if (added <= 0) break;
        length += (size_t)added;
        for (char *end; (end = memchr(pending, '\n', length));) {
            size_t used = (size_t)(end - pending) + 1;
            *end = 0;
            obey(pending);
            length -= used;
            memmove(pending, end + 1, length);
        }
    }
    watchdog_detach(watchdog);
    return 0;
}
