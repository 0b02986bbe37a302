/* SPDX-License-Identifier: Apache-2.0 */

/* A service on the loop of libevent. */

#include <signal.h>

#include "watchdog-libevent.h"

static void terminate(struct watchdog *watchdog, void *base)
{
    watchdog_stopping(watchdog);
    event_base_loopbreak(base);
}

static void handle_sigterm(evutil_socket_t number, short what, void *base)
{
    (void)number;
    (void)what;
    event_base_loopbreak(base);
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    struct event_base *base = event_base_new();
    struct watchdog_libevent glue;
    struct event *sigterm = evsignal_new(base, SIGTERM, handle_sigterm, base);
    if (!sigterm || event_add(sigterm, NULL) != 0) return 1;
    if (watchdog_libevent_attach(&glue, watchdog, base) != 0) return 1;
    watchdog_on_terminate(watchdog, terminate, base);
    watchdog_ready(watchdog);
    event_base_dispatch(base);
    watchdog_libevent_detach(&glue);
    event_free(sigterm);
    event_base_free(base);
    watchdog_detach(watchdog);
}
