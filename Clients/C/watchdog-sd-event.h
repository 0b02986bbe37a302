/* SPDX-License-Identifier: Apache-2.0 */

/* libwatchdog in an event loop of libsystemd. Leave sd_event_set_watchdog(3) off. */

#ifndef WATCHDOG_SD_EVENT_H
#define WATCHDOG_SD_EVENT_H

#include <stdint.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "watchdog.h"

/* The caller zeroes it. Must stay at its address until watchdog_sd_event_detach(). */
struct watchdog_sd_event {
    struct watchdog *watchdog;
    sd_event_source *reader;
    sd_event_source *timer;
};

static inline void watchdog_sd_event_detach(struct watchdog_sd_event *self)
{
    self->watchdog = NULL;
    self->reader = sd_event_source_disable_unref(self->reader);
    self->timer = sd_event_source_disable_unref(self->timer);
}

static inline void watchdog_sd_event_serve(struct watchdog_sd_event *self)
{
    watchdog_service(self->watchdog);
    /* A callback may have called watchdog_sd_event_detach(). */
    if (self->watchdog && watchdog_descriptor(self->watchdog) < 0)
        self->reader = sd_event_source_disable_unref(self->reader);
}

static inline int watchdog_sd_event_read(sd_event_source *source, int descriptor, uint32_t events, void *context)
{
    (void)source;
    (void)descriptor;
    (void)events;
    watchdog_sd_event_serve((struct watchdog_sd_event *)context);
    return 0;
}

static inline int watchdog_sd_event_time(sd_event_source *source, uint64_t microseconds, void *context)
{
    (void)source;
    (void)microseconds;
    watchdog_sd_event_serve((struct watchdog_sd_event *)context);
    return 0;
}

/* Runs each time before the loop waits. The timer stays enabled: sd-event does not call this for a disabled one. */
static inline int watchdog_sd_event_prepare(sd_event_source *source, void *context)
{
    struct watchdog_sd_event *self = (struct watchdog_sd_event *)context;
    int timeout_ms = watchdog_timeout_ms(self->watchdog), result;
    uint64_t due_microseconds = UINT64_MAX;
    if (timeout_ms >= 0) {
        result = sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &due_microseconds);
        if (result < 0) return result;
        due_microseconds += (uint64_t)timeout_ms * 1000;
    }
    return sd_event_source_set_time(source, due_microseconds);
}

/*
 * Serves the watchdog from an event loop; call it on the thread that runs the loop. Messages of other threads that have
 * to wait go out at the next ping.
 *
 * Returns 0 or a negative errno, as sd-event does. Call watchdog_sd_event_detach() before watchdog_detach().
 */
static inline int watchdog_sd_event_attach(struct watchdog_sd_event *self, struct watchdog *watchdog, sd_event *event)
{
    int descriptor = watchdog_descriptor(watchdog), result = 0;
    self->watchdog = watchdog;
    self->reader = self->timer = NULL;
    if (descriptor >= 0) {
        result = sd_event_add_io(event, &self->reader, descriptor, EPOLLIN, watchdog_sd_event_read, self);
    }
    if (result >= 0)
        result = sd_event_add_time(event, &self->timer, CLOCK_MONOTONIC, 0, 1, watchdog_sd_event_time, self);
    if (result >= 0) result = sd_event_source_set_enabled(self->timer, SD_EVENT_ON);
    if (result >= 0) result = sd_event_source_set_prepare(self->timer, watchdog_sd_event_prepare);
    if (result < 0) watchdog_sd_event_detach(self);
    return result;
}

#endif
