/* SPDX-License-Identifier: Apache-2.0 */

/* A service with a poll(2) loop whose feed never answers. With --repaired, the feed is one of the descriptors that the
 * loop waits for; without, the service reads it at once, and hangs. */

#include <string.h>
#include <unistd.h>

#include "watchdog-poll.h"

void load_feed(int feed);

__attribute__((noinline)) void load_feed(int feed)
{
    char byte;
    while (read(feed, &byte, 1) == 1) {}
}

int main(int count, char **arguments)
{
    int is_repaired = count > 1 && strcmp(arguments[1], "--repaired") == 0;
    int feed[2];
    if (pipe(feed) != 0) return 1;
    struct watchdog *watchdog = watchdog_attach(0);
    watchdog_ready(watchdog);
    if (!is_repaired) load_feed(feed[0]);
    for (;;) {
        struct pollfd waits[2] = {[1] = {.fd = feed[0], .events = POLLIN}};
        watchdog_poll(watchdog, waits, 2, -1);
        if (waits[1].revents & POLLIN) load_feed(feed[0]);
    }
}
