/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Included ahead of an example: once ready, the example sends so many messages that the last ones have to wait, and its
 * main loop must notice that. With TALK_ON_THREAD, another thread sends them while the loop sleeps.
 */

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "watchdog.h"

enum { talk_count = 50, talk_delay_us = 200000 };

static inline void *talk(void *watchdog)
{
    char text[32];
#ifdef TALK_ON_THREAD
    usleep(talk_delay_us);
#endif
    for (int index = 1; index <= talk_count; index++) {
        snprintf(text, sizeof text, "word %d", index);
        watchdog_status((struct watchdog *)watchdog, text);
    }
    return NULL;
}

static inline void ready_and_talk(struct watchdog *watchdog)
{
    watchdog_ready(watchdog);
#ifdef TALK_ON_THREAD
    pthread_t thread;
    if (pthread_create(&thread, NULL, talk, watchdog) == 0) pthread_detach(thread);
#else
    talk(watchdog);
#endif
}

#define watchdog_ready ready_and_talk
