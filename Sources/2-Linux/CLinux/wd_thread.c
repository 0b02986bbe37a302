/* SPDX-License-Identifier: Apache-2.0 */

#include "wd_thread.h"

#include <errno.h>
#include <time.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BY_TRYING 1
#endif
#endif

static struct timespec time_of(int64_t nanoseconds) {
    if (nanoseconds < 0) nanoseconds = 0;
    return (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
}

int wd_semaphore_wait(sem_t *semaphore, int64_t deadline) {
    struct timespec limit = time_of(deadline);
    int result;
    do result = sem_clockwait(semaphore, CLOCK_MONOTONIC, &limit);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int wd_thread_join(pthread_t thread, int64_t deadline) {
    struct timespec limit = time_of(deadline);
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
