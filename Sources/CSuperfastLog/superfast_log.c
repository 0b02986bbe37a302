/* SPDX-License-Identifier: Apache-2.0 */
#include "superfast_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALIBRATION_NANOSECONDS 415e6

static uint64_t began;
static uint64_t ended;
static uint64_t first_count;
static double counts_per_microsecond = 1;

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t counter(void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return nanoseconds(CLOCK_MONOTONIC_RAW);
#endif
}

static double time_scale(void)
{
    const char *text = getenv("SAMPLE_TIME_SCALE");
    double scale = text ? strtod(text, NULL) : 1;

    return scale >= 0.01 && scale <= 10 ? scale : 1;
}

/*
 * CPU time rather than wall time ends it: a sample that was taken while another thread had the CPU is worth nothing.
 */
__attribute__((constructor)) static void calibrate(void)
{
    uint64_t first, last, limit = (uint64_t)(CALIBRATION_NANOSECONDS * time_scale());

    began = nanoseconds(CLOCK_BOOTTIME);
    first = last = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    first_count = counter();
    while (last - first < limit) {
        last = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
        counts_per_microsecond = (double)(counter() - first_count) / ((double)(last - first) / 1000 + 1);
    }
    ended = nanoseconds(CLOCK_BOOTTIME);
}

uint64_t superfast_log_began(void)
{
    return began;
}

uint64_t superfast_log_ended(void)
{
    return ended;
}

void superfast_log(const char *message)
{
    fprintf(stderr, "%10.0f µs  %s\n", (double)(counter() - first_count) / counts_per_microsecond, message);
}
