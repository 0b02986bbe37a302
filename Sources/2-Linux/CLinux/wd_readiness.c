/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_readiness.h"

#include <sys/epoll.h>

int wd_readiness_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int wd_readiness_add(int set, int descriptor, uint64_t token, bool watches) {
    struct epoll_event event = {.events = watches ? EPOLLIN : 0, .data.u64 = token};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

int wd_readiness_watch(int set, int descriptor, uint64_t token, bool watches) {
    struct epoll_event event = {.events = watches ? EPOLLIN : 0, .data.u64 = token};
    return epoll_ctl(set, EPOLL_CTL_MOD, descriptor, &event);
}

void wd_readiness_remove(int set, int descriptor) { epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL); }

size_t wd_readiness_poll(int set, uint64_t *tokens, size_t capacity) {
    struct epoll_event events[64];
    if (capacity > sizeof events / sizeof *events) capacity = sizeof events / sizeof *events;
    int count = epoll_wait(set, events, (int)capacity, 0);
    for (int index = 0; index < count; index++) tokens[index] = events[index].data.u64;
    return count > 0 ? (size_t)count : 0;
}
