/* SPDX-License-Identifier: Apache-2.0 */

/* libwatchdog in a loop of libevent (2.x). */

#ifndef WATCHDOG_LIBEVENT_H
#define WATCHDOG_LIBEVENT_H

#include <event2/event.h>
#include <stddef.h>
#include <sys/time.h>

#include "watchdog.h"

/* Must stay at its address until watchdog_libevent_detach(). */
struct watchdog_libevent {
    struct watchdog *watchdog;
    struct event *reader;
    struct event *timer;
};

static inline void watchdog_libevent_free(struct event **event)
{
    if (*event) event_free(*event);
    *event = NULL;
}

/* Stops serving. Call it before watchdog_detach(). */
static inline void watchdog_libevent_detach(struct watchdog_libevent *self)
{
    if (self->watchdog) watchdog_on_wake(self->watchdog, NULL, NULL);
    self->watchdog = NULL;
    watchdog_libevent_free(&self->reader);
    watchdog_libevent_free(&self->timer);
}

static inline void watchdog_libevent_serve(evutil_socket_t descriptor, short what, void *context)
{
    struct watchdog_libevent *self = (struct watchdog_libevent *)context;
    struct timeval wait;
    int timeout_ms;
    (void)descriptor;
    (void)what;
    watchdog_service(self->watchdog);
    /* A callback may have called watchdog_libevent_detach(). */
    if (!self->watchdog) return;
    if (watchdog_descriptor(self->watchdog) < 0) watchdog_libevent_free(&self->reader);
    timeout_ms = watchdog_timeout_ms(self->watchdog);
    if (timeout_ms < 0) {
        event_del(self->timer);
        return;
    }
    wait.tv_sec = timeout_ms / 1000;
    wait.tv_usec = timeout_ms % 1000 * 1000;
    event_add(self->timer, &wait);
}

/* The loop serves at once, and so learns of the new timeout. */
static inline void watchdog_libevent_wake(void *context) { event_active((struct event *)context, EV_TIMEOUT, 0); }

/*
 * Serves the watchdog from an event base; call it on the thread that runs the base. Other threads may use the handle
 * only after evthread_use_pthreads(). The reader keeps event_base_dispatch() from returning: end it with
 * event_base_loopexit().
 *
 * Returns 0, or -1 when out of memory.
 */
static inline int watchdog_libevent_attach(
    struct watchdog_libevent *self, struct watchdog *watchdog, struct event_base *base)
{
    int descriptor = watchdog_descriptor(watchdog);
    self->watchdog = watchdog;
    self->reader = NULL;
    self->timer = event_new(base, -1, 0, watchdog_libevent_serve, self);
    if (self->timer && descriptor >= 0)
        self->reader = event_new(base, descriptor, EV_READ | EV_PERSIST, watchdog_libevent_serve, self);
    if (!self->timer || (descriptor >= 0 && (!self->reader || event_add(self->reader, NULL) != 0))) {
        watchdog_libevent_detach(self);
        return -1;
    }
    watchdog_on_wake(watchdog, watchdog_libevent_wake, self->timer);
    event_active(self->timer, EV_TIMEOUT, 0);
    return 0;
}

#endif
