/* SPDX-License-Identifier: Apache-2.0 */

/* A program with the C client that hangs as soon as it is ready: its main loop waits for data that never arrives. */

#include <stdio.h>
#include <unistd.h>

#include "watchdog.h"

int load_feed(int descriptor);

__attribute__((noinline)) int load_feed(int descriptor)
{
    char byte;
    int count = 0;
    while (read(descriptor, &byte, 1) == 1) count++;
    return count;
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    int feed[2];
    if (pipe(feed) != 0) return 1;
    watchdog_ready(watchdog);
    puts("hangs");
    fflush(stdout);
    printf("%d bytes\n", load_feed(feed[0]));
    watchdog_detach(watchdog);
}
