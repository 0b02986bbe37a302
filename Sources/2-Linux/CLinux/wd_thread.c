/* SPDX-License-Identifier: Apache-2.0 */

#include "wd_thread.h"

#include <errno.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BY_TRYING 1
#endif
#endif

int wd_thread_join(pthread_t thread, int64_t deadline) {
    if (deadline < 0) deadline = 0;
    struct timespec limit = { .tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000 };
#ifdef BY_TRYING
    /* ThreadSanitizer does not notice that pthread_clockjoin_np(3) has joined a thread, and aborts when its ID is reused. */
    for (;;) {
        int result = pthread_tryjoin_np(thread, NULL);
        if (result != EBUSY) return result;
        struct timespec now, pause = { .tv_nsec = 100000 };
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec > limit.tv_sec || (now.tv_sec == limit.tv_sec && now.tv_nsec >= limit.tv_nsec)) return ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
#else
    return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &limit);
#endif
}
