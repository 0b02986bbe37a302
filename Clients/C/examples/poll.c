/* SPDX-License-Identifier: Apache-2.0 */

/* A minimal app: a poll(2) loop that echoes its input. */

#include <unistd.h>

#include "watchdog-poll.h"

static int serve(struct watchdog *watchdog)
{
    struct pollfd waits[] = {{0}, {.fd = STDIN_FILENO, .events = POLLIN}};
    char bytes[512];
    int ready = watchdog_poll(watchdog, waits, 2, -1);
    if (ready <= 0 || waits[1].revents == 0) return 1;
    ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    return count > 0 && write(STDOUT_FILENO, bytes, (size_t)count) == count;
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    watchdog_ready(watchdog);
    while (serve(watchdog)) {}
    watchdog_stopping(watchdog);
    watchdog_detach(watchdog);
}
