/* SPDX-License-Identifier: Apache-2.0 */
/* A program and its two libraries, compiled from this file with PART=1, 2 and 0. Their constructors compute for 90 ms and
 * 30 ms, and sleep for 60 ms. */
#include <time.h>

static double passed(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/* CPU time, so that a busy machine changes nothing. */
static void compute(double milliseconds)
{
    double end = passed(CLOCK_THREAD_CPUTIME_ID) + milliseconds;

    while (passed(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

#if PART == 1
__attribute__((constructor)) static void load_catalog(void)
{
    compute(90);
}

int first(void)
{
    return 0;
}
#elif PART == 2
int first(void);

__attribute__((constructor)) static void init_logger(void)
{
    compute(30);
}

int second(void)
{
    return first();
}
#else
int second(void);

__attribute__((constructor)) static void read_settings(void)
{
    struct timespec span = {.tv_nsec = 60 * 1000000};

    nanosleep(&span, NULL);
}

int main(void)
{
    compute(20);
    return second();
}
#endif
