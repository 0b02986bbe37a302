/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeps for 60 ms in a constructor and for 40 ms in main; prints its effective user and its permitted capabilities. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void pass(long milliseconds)
{
    struct timespec span = {.tv_nsec = milliseconds * 1000000};

    nanosleep(&span, NULL);
}

__attribute__((constructor)) static void prepare(void)
{
    pass(60);
}

int main(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");

    pass(40);
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "CapPrm:\t", 8) == 0)
            printf("user %d, capabilities %s", (int)geteuid(), line + 8);
    }
    return 0;
}
