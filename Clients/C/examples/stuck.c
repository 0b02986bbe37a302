/* SPDX-License-Identifier: Apache-2.0 */

/* A program that hangs: soon after it becomes ready, its main loop waits for data that never arrives. */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "watchdog-poll.h"

enum { turn_ms = 100, healthy_turns = 15 };

void load_feed(int descriptor);

/* Waits for an answer that nobody sends. */
__attribute__((noinline)) void load_feed(int descriptor)
{
    char byte;
    while (read(descriptor, &byte, 1) == 1) {}
    puts("stuck: not reached");
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    int feed[2];
    if (pipe(feed) != 0) return 1;
    watchdog_ready(watchdog);
    watchdog_summary(watchdog, "about to load the feed");
    for (int turn = 0; turn < healthy_turns; turn++) {
        struct pollfd waits[1];
        struct timespec rest = {.tv_nsec = turn_ms * 1000000};
        watchdog_poll(watchdog, waits, 1, 0);
        nanosleep(&rest, NULL);
    }
    load_feed(feed[0]);
    watchdog_detach(watchdog);
}
