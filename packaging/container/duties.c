/* SPDX-License-Identifier: Apache-2.0 */

/* What a program asks of process 1 of its container. Linked statically: it is the only program beside watchdogd.
 *
 *   duties exit CODE    ends so
 *   duties orphans      leaves processes to process 1, and sees whether they are reaped: 0 yes, 1 no
 *   duties term         waits for SIGTERM, and exits with 3
 *   duties deaf         ignores SIGTERM
 *   duties cat FILE     prints a file
 *   duties has FILE     exits with 0 if there is such a file
 *   duties start CMD…   becomes a command, which may end in the next duty
 *   duties started      says how long ago that was
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { orphans = 5, tries = 200, pause_ms = 10 };

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000}, NULL);
}

static int leave_orphans(void)
{
    int out[2];
    pid_t left[orphans];
    if (pipe(out) != 0) return 2;
    for (int count = 0; count < orphans; count++) {
        pid_t parent = fork();
        if (parent == 0) {
            pid_t child = fork();
            if (child == 0) _exit(0);
            _exit(write(out[1], &child, sizeof child) == sizeof child ? 0 : 1);
        }
        if (read(out[0], &left[count], sizeof left[count]) != sizeof left[count]) return 2;
    }
    /* A zombie still has its number. The parents are this program's own, and stay. */
    for (int try = 0; try < tries; try++) {
        int alive = 0;
        for (int count = 0; count < orphans; count++) alive += kill(left[count], 0) == 0;
        if (alive == 0) return 0;
        rest();
    }
    return 1;
}

static int print(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "r");
    if (file == NULL) return 1;
    size_t count;
    while ((count = fread(text, 1, sizeof text, file)) > 0) fwrite(text, 1, count, stdout);
    return 0;
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int start(char **command)
{
    char text[32];
    snprintf(text, sizeof text, "%.3f", milliseconds());
    setenv("DUTIES_START", text, 1);
    execv(command[0], command);
    return 127;
}

static int started(void)
{
    double now = milliseconds();
    const char *start = getenv("DUTIES_START");
    if (start == NULL) return 1;
    printf("started %.1f ms later\n", now - atof(start));
    return 0;
}

int main(int count, char **arguments)
{
    const char *duty = count > 1 ? arguments[1] : "", *value = count > 2 ? arguments[2] : "";
    if (strcmp(duty, "exit") == 0) return atoi(value);
    if (strcmp(duty, "orphans") == 0) return leave_orphans();
    if (strcmp(duty, "cat") == 0) return print(value);
    if (strcmp(duty, "has") == 0) return access(value, F_OK) == 0 ? 0 : 1;
    if (strcmp(duty, "start") == 0 && count > 2) return start(arguments + 2);
    if (strcmp(duty, "started") == 0) return started();
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    if (strcmp(duty, "term") == 0) {
        int number;
        sigprocmask(SIG_BLOCK, &terminate, NULL);
        puts("waiting");
        fflush(stdout);
        sigwait(&terminate, &number);
        return 3;
    }
    if (strcmp(duty, "deaf") == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;) pause();
    }
    return 64;
}
