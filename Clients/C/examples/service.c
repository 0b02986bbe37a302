/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A well-behaved service with a lifecycle, in a loop of poll(2): it counts once a second while it is in the foreground,
 * saves in the background, handles events, and ends on request.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "watchdog-poll.h"

enum { count_interval_ms = 1000, save_duration_ms = 20 };

struct service {
    unsigned count;
    uint64_t save_task;
};

static void sleep_ms(long milliseconds)
{
    struct timespec duration = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&duration, NULL);
}

/* Work that is not finished when the app goes to the background. */
static void save(struct service *service, struct watchdog *watchdog)
{
    service->save_task = watchdog_begin_task(watchdog, "save");
    sleep_ms(save_duration_ms);
    watchdog_end_task(watchdog, service->save_task);
    printf("service: saved %u\n", service->count);
}

static int enter_state(struct watchdog *watchdog, int state, uint64_t id, void *context)
{
    (void)id;
    printf("service: %s\n", state == WATCHDOG_BACKGROUND ? "background" : "foreground");
    if (state == WATCHDOG_BACKGROUND) save(context, watchdog);
    return WATCHDOG_DONE;
}

static int handle_event(struct watchdog *watchdog, const char *kind, const char *payload, uint64_t id, void *context)
{
    (void)watchdog;
    (void)context;
    printf("service: event %llu: %s (%s)\n", (unsigned long long)id, kind, payload);
    /* `watchdogd conformance` requests this, to check that nothing answers pings meanwhile. */
    if (strcmp(kind, "conformance-block") == 0) sleep_ms(strtol(payload, NULL, 10));
    return WATCHDOG_DONE;
}

static void take_background_time(struct watchdog *watchdog, int64_t microseconds, void *context)
{
    (void)watchdog;
    (void)context;
    printf("service: %lld ms in the background\n", (long long)(microseconds / 1000));
}

static void expire(struct watchdog *watchdog, void *context)
{
    struct service *service = context;
    watchdog_end_task(watchdog, service->save_task);
    printf("service: the time is over\n");
}

static void go_on_alone(struct watchdog *watchdog, void *context)
{
    (void)watchdog;
    (void)context;
    printf("service: the supervisor is gone\n");
}

static void count(struct service *service, struct watchdog *watchdog)
{
    char text[64];
    service->count++;
    snprintf(text, sizeof text, "counted to %u", service->count);
    watchdog_status(watchdog, text);
    watchdog_summary(watchdog, text);
}

static int64_t now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* SIGTERM accompanies the request to exit; systemd and shells send only SIGTERM. */
static int terminations(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void run(struct service *service, struct watchdog *watchdog, int signals)
{
    int64_t due_ms = now_ms() + count_interval_ms;
    for (;;) {
        struct pollfd waits[] = {{0}, {.fd = signals, .events = POLLIN}};
        int64_t left_ms = due_ms - now_ms();
        int ready = watchdog_poll(watchdog, waits, 2, left_ms > 0 ? (int)left_ms : 0);
        if (ready > 0 && waits[1].revents != 0) return;
        /* Extra calls do no harm; the result says whether to exit. */
        if (watchdog_service(watchdog)) return;
        if (now_ms() < due_ms) continue;
        due_ms += count_interval_ms;
        if (watchdog_state(watchdog) == WATCHDOG_FOREGROUND) count(service, watchdog);
    }
}

int main(void)
{
    struct service service = {0};
    struct watchdog *watchdog = watchdog_attach(WATCHDOG_LIFECYCLE);
    int signals = terminations();
    setvbuf(stdout, NULL, _IOLBF, 0);
    watchdog_on_state(watchdog, enter_state, &service);
    watchdog_on_event(watchdog, handle_event, NULL);
    watchdog_on_background_time(watchdog, take_background_time, NULL);
    watchdog_on_expire(watchdog, expire, &service);
    watchdog_on_disconnected(watchdog, go_on_alone, NULL);
    if (watchdog_launch_event(watchdog)) printf("service: launched for %s\n", watchdog_launch_event(watchdog));

    watchdog_begin_launch_task(watchdog, "warm up");
    watchdog_first_frame(watchdog);
    watchdog_ready(watchdog);
    watchdog_end_launch_task(watchdog, "warm up");
    watchdog_useful(watchdog);
    run(&service, watchdog, signals);
    watchdog_stopping(watchdog);
    printf("service: ends\n");
    watchdog_detach(watchdog);
    close(signals);
}
