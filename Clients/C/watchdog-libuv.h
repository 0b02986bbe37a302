/* SPDX-License-Identifier: Apache-2.0 */

/* libwatchdog in a loop of libuv (1.x). */

#ifndef WATCHDOG_LIBUV_H
#define WATCHDOG_LIBUV_H

#include <uv.h>

#include "watchdog.h"

/* Must stay at its address until all its handles are closed; keep it as long as the loop. */
struct watchdog_libuv {
    struct watchdog *watchdog;
    uv_poll_t reader;
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_async_t wake;
    int has_reader;
    int is_closed;
};

static inline void watchdog_libuv_close_reader(struct watchdog_libuv *self)
{
    if (self->has_reader) uv_close((uv_handle_t *)&self->reader, NULL);
    self->has_reader = 0;
}

/* Stops serving; the loop must run once more to release the handles. Call it before watchdog_detach(). */
static inline void watchdog_libuv_detach(struct watchdog_libuv *self)
{
    if (self->is_closed) return;
    self->is_closed = 1;
    watchdog_on_wake(self->watchdog, NULL, NULL);
    watchdog_libuv_close_reader(self);
    uv_close((uv_handle_t *)&self->timer, NULL);
    uv_close((uv_handle_t *)&self->prepare, NULL);
    uv_close((uv_handle_t *)&self->wake, NULL);
}

static inline void watchdog_libuv_serve(struct watchdog_libuv *self)
{
    watchdog_service(self->watchdog);
    /* A callback may have called watchdog_libuv_detach(). */
    if (!self->is_closed && watchdog_descriptor(self->watchdog) < 0) watchdog_libuv_close_reader(self);
}

static inline void watchdog_libuv_read(uv_poll_t *reader, int status, int events)
{
    (void)status;
    (void)events;
    watchdog_libuv_serve((struct watchdog_libuv *)reader->data);
}

static inline void watchdog_libuv_time(uv_timer_t *timer)
{
    watchdog_libuv_serve((struct watchdog_libuv *)timer->data);
}

/* Runs each time before the loop waits. */
static inline void watchdog_libuv_prepare(uv_prepare_t *prepare)
{
    struct watchdog_libuv *self = (struct watchdog_libuv *)prepare->data;
    int timeout_ms = watchdog_timeout_ms(self->watchdog);
    if (timeout_ms < 0) {
        uv_timer_stop(&self->timer);
    } else {
        uv_timer_start(&self->timer, watchdog_libuv_time, (uint64_t)timeout_ms, 0);
    }
}

/* Waking the loop is enough. */
static inline void watchdog_libuv_woken(uv_async_t *wake) { (void)wake; }

static inline void watchdog_libuv_wake(void *context) { uv_async_send((uv_async_t *)context); }

/*
 * Serves the watchdog from a loop; call it on the thread that runs it. It does not keep the loop alive: uv_run()
 * returns when the app has nothing to do.
 *
 * Returns 0 or libuv's negative error.
 */
static inline int watchdog_libuv_attach(struct watchdog_libuv *self, struct watchdog *watchdog, uv_loop_t *loop)
{
    int descriptor = watchdog_descriptor(watchdog), result;
    self->watchdog = watchdog;
    self->has_reader = 0;
    self->is_closed = 0;
    result = uv_async_init(loop, &self->wake, watchdog_libuv_woken);
    if (result < 0) return result;
    uv_timer_init(loop, &self->timer);
    uv_prepare_init(loop, &self->prepare);
    self->timer.data = self->prepare.data = self->reader.data = self;
    uv_unref((uv_handle_t *)&self->wake);
    uv_unref((uv_handle_t *)&self->timer);
    uv_unref((uv_handle_t *)&self->prepare);
    if (descriptor >= 0) {
        result = uv_poll_init(loop, &self->reader, descriptor);
        self->has_reader = result == 0;
        self->reader.data = self;
        if (result == 0) {
            uv_unref((uv_handle_t *)&self->reader);
            result = uv_poll_start(&self->reader, UV_READABLE, watchdog_libuv_read);
        }
        if (result < 0) {
            watchdog_libuv_detach(self);
            return result;
        }
    }
    uv_prepare_start(&self->prepare, watchdog_libuv_prepare);
    watchdog_on_wake(watchdog, watchdog_libuv_wake, &self->wake);
    return 0;
}

#endif
