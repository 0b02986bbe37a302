/* SPDX-License-Identifier: Apache-2.0 */

/* libwatchdog in a loop of poll(2). */

#ifndef WATCHDOG_POLL_H
#define WATCHDOG_POLL_H

#include <errno.h>
#include <poll.h>

#include "watchdog.h"

/* The shorter of two timeouts as poll(2) takes them: -1 is no limit. */
static inline int watchdog_poll_shorter(int one_ms, int other_ms)
{
    if (one_ms < 0) return other_ms;
    if (other_ms < 0) return one_ms;
    return one_ms < other_ms ? one_ms : other_ms;
}

/*
 * Waits as poll(2) does, and serves the watchdog.
 *
 * waits: this function fills in the first one, the watchdog's; the app's own follow.
 * count: the number of all, at least 1.
 * timeout_ms: the app's own timeout; -1 for none.
 * Returns how many of the app's own descriptors are ready, possibly 0 before the timeout; or -1 with errno, such as
 * EINTR. It has served the watchdog in any case.
 */
static inline int watchdog_poll(struct watchdog *watchdog, struct pollfd *waits, nfds_t count, int timeout_ms)
{
    int ready, error;
    waits[0].fd = watchdog_descriptor(watchdog);
    waits[0].events = POLLIN;
    waits[0].revents = 0;
    ready = poll(waits, count, watchdog_poll_shorter(timeout_ms, watchdog_timeout_ms(watchdog)));
    error = errno;
    if (ready > 0 && waits[0].revents != 0) ready--;
    watchdog_service(watchdog);
    errno = error;
    return ready;
}

#endif
