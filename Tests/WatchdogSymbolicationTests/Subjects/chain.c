/* SPDX-License-Identifier: Apache-2.0
 *
 * A main thread in pause() and a named thread in poll(), both below chains of calls; and, if an argument requests it,
 * a main thread that waits inside a signal handler or in a call that was inlined.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile long sink;

static void ready(void)
{
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        _exit(1);
}

__attribute__((noinline)) static long innermost(long value)
{
    ready();
    pause();
    return value + sink;
}

__attribute__((noinline)) static long middle(long value)
{
    char room[300];
    memset(room, (int)value, sizeof room);
    sink += room[value & 255];
    return innermost(value * 3) + room[7];
}

__attribute__((noinline)) static long outer(long value)
{
    return middle(value + sink) * 5 + 1;
}

__attribute__((noinline)) static long recurses(long depth)
{
    return (depth > 0 ? recurses(depth - 1) : innermost(depth)) + sink;
}

static inline __attribute__((always_inline)) long inlined_leaf(long value)
{
    ready();
    pause(); /* line of inlined_leaf */
    return value * 7;
}

static inline __attribute__((always_inline)) long inlined_middle(long value)
{
    return inlined_leaf(value + 1) + sink; /* line of inlined_middle */
}

__attribute__((noinline)) static long holds_inlined(long value)
{
    return inlined_middle(value) - 2; /* line of holds_inlined */
}

__attribute__((noinline)) static void waits_in_handler(int signal)
{
    sink += signal;
    ready();
    pause();
    sink += 1;
}

__attribute__((noinline)) static long raises(long value)
{
    struct sigaction action = { .sa_handler = waits_in_handler };
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return value + sink;
}

__attribute__((noinline)) static int waits_for_nothing(int timeout)
{
    return poll(NULL, 0, timeout) + (int)sink;
}

/* The child stays in its parent's memory until the end of the test. */
__attribute__((noinline)) static long vforks(long value)
{
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        ready();
        for (;;)
            pause();
    }
    return value + sink;
}

/* As above, but the child waits for a writer to the FIFO that is its standard input. */
__attribute__((noinline)) static long spawns(const char *fifo)
{
    char *const command[] = { "true", NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, fifo, O_RDONLY, 0);
    ready();
    return posix_spawn(&child, "/bin/true", &actions, NULL, command, environ) + sink;
}

static void *worker(void *argument)
{
    pthread_setname_np(pthread_self(), "chain-worker");
    sink += waits_for_nothing(-1);
    return argument;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    const char *what = count > 1 ? arguments[1] : "";
    if (strcmp(what, "inlined") == 0)
        return (int)holds_inlined(count);
    if (strcmp(what, "deep") == 0)
        return (int)recurses(atol(arguments[2]));
    if (strcmp(what, "vfork") == 0)
        return (int)vforks(count);
    if (strcmp(what, "spawn") == 0)
        return (int)spawns(arguments[2]);
    if (strcmp(what, "handler") == 0)
        return (int)raises(count);
    return (int)outer(count);
}
