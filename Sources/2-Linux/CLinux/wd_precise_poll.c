/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_precise_poll.h"

#include <poll.h>
#include <time.h>

int wd_precise_poll(void *entries, size_t count, int64_t nanoseconds) {
    struct timespec limit = {.tv_sec = (time_t)(nanoseconds / 1000000000), .tv_nsec = (long)(nanoseconds % 1000000000)};
    return ppoll(entries, (nfds_t)count, &limit, NULL);
}
