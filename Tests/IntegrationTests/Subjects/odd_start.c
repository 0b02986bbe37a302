/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd_start PLACE DEED [stay]: in its place (library, own, main), ends (exit), kills itself (kill), or is replaced by itself,
 * by its first thread (exec) or by another (thread), and then does nothing special. Both constructors of a replaced
 * program and its main take 20 ms. With stay, main does not return.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *replace(void *arguments)
{
    setenv("REPLACED", "1", 1);
    execv("/proc/self/exe", arguments);
    _exit(125);
}

static void act(const char *place, int count, char **arguments)
{
    pthread_t thread;

    if (getenv("REPLACED")) {
        usleep(20000);
        return;
    }
    if (count < 3 || strcmp(arguments[1], place) != 0) return;
    if (strcmp(arguments[2], "exit") == 0) _exit(3);
    if (strcmp(arguments[2], "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(arguments[2], "exec") == 0) replace(arguments);
    if (strcmp(arguments[2], "thread") == 0 && pthread_create(&thread, NULL, replace, arguments) == 0) pause();
}

#ifdef LIBRARY
void odd_library(void) {}

__attribute__((constructor)) static void load(int count, char **arguments)
{
    act("library", count, arguments);
}
#else
void odd_library(void);

__attribute__((constructor)) static void prepare(int count, char **arguments)
{
    act("own", count, arguments);
}

int main(int count, char **arguments)
{
    odd_library();
    act("main", count, arguments);
    for (; count > 3;) pause();
    return 0;
}
#endif
