// SPDX-License-Identifier: Apache-2.0
//
// A zoo of hangs: a program that answers one ping of watchdogd, and whose main thread then hangs in the way that its first
// argument says, in the function hang_KIND. Each file has the kinds of one topic.
#ifndef ZOO_H
#define ZOO_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

// Defines a hang and registers it with main.
#define KIND(name)                                                                         \
    static void hang_##name(void);                                                         \
    __attribute__((constructor)) static void add_##name(void) { zoo_add(#name, hang_##name); } \
    __attribute__((noinline)) static void hang_##name(void)

void zoo_add(const char *name, void (*hang)(void));

// The result of any computation.
extern volatile unsigned long sink;

// Exits with code 3: this kind is impossible on this machine.
_Noreturn void fail(const char *what);

pthread_t start(void *(*body)(void *), void *argument, const char *name);
void *sleep_for_ever(void *unused);
// Returns when both the main thread and its worker have called it.
void wait_until_started(void);

// A child that runs the body, and that dies with its parent. Returns once the child has reported that it is ready.
pid_t child(void (*body)(void));
void child_is_ready(void);

// A TCP connection on the loopback interface to this process itself.
void connected(int ends[2]);

// Runs on CPU 0 only.
void pin(void);
// A child with this nice value that computes.
void compete(int nice_value);

#endif
