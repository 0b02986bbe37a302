/* SPDX-License-Identifier: Apache-2.0 */

/* A service on the event loop of libsystemd. */

#include <signal.h>

#include "watchdog-sd-event.h"

static void terminate(struct watchdog *watchdog, void *event)
{
    watchdog_stopping(watchdog);
    sd_event_exit(event, 0);
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    struct watchdog_sd_event glue = {0};
    sd_event *event = NULL;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (sd_event_default(&event) < 0) return 1;
    /* Without a handler, the loop ends. */
    if (sd_event_add_signal(event, NULL, SIGTERM, NULL, NULL) < 0) return 1;
    if (watchdog_sd_event_attach(&glue, watchdog, event) < 0) return 1;
    watchdog_on_terminate(watchdog, terminate, event);
    watchdog_ready(watchdog);
    int code = sd_event_loop(event);
    watchdog_sd_event_detach(&glue);
    watchdog_detach(watchdog);
    sd_event_unref(event);
    return code < 0;
}
