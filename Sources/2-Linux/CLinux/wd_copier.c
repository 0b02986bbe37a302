/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_copier.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "wd_examiner.h"
#include "wd_socket.h"

struct answer {
    int32_t error; /* an errno, or 0 */
    uint32_t reserved;
};

union rights {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* How long each side looks for a message before it waits, in nanoseconds. */
static const int64_t answer_moment = 30000, request_moment = 100000;

static const size_t request_head = offsetof(struct wd_copy_request, ranges);

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static bool is_real_time(void) {
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    return policy == SCHED_RR || policy == SCHED_FIFO;
}

/* As recvmsg(2), but looks for a message for a moment before it waits: waking a thread on another CPU takes several times
 * as long as the copy itself, and the process stands still meanwhile. Only with a real-time priority, because the other
 * side might need this CPU. */
static ssize_t receive(int socket, struct msghdr *message, int64_t moment, int flags) {
    ssize_t length;
    struct msghdr empty = *message; /* recvmsg(2) changes the lengths */
    int64_t end = moment == 0 ? 0 : now() + moment;
    do {
        *message = empty;
        length = recvmsg(socket, message, flags | (end == 0 ? 0 : MSG_DONTWAIT));
        if (length >= 0 || (errno != EINTR && errno != EAGAIN)) return length;
        if (errno == EAGAIN && end == 0) return length;
        if (end != 0 && now() >= end) end = 0;
    } while (true);
}

/* -- The side that needs the bytes -- */

int wd_copy_limit(int socket, unsigned milliseconds) {
    struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = (suseconds_t)(milliseconds % 1000) * 1000};
    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

ssize_t wd_copy(int socket, enum wd_copy_source source, pid_t process, int file, const struct iovec *ranges, size_t count,
                void *buffer, unsigned limit, bool lingers) {
    struct wd_copy_request request;
    request.source = source;
    request.process = process;
    request.limit = limit;
    request.count = (uint32_t)count;
    request.lingers = lingers;
    request.reserved = 0;
    size_t room = 0;
    for (size_t i = 0; i < count && i < WD_COPY_RANGES && room <= WD_COPY_BYTES; i++) {
        request.ranges[i] =
            (struct wd_copy_range){.start = (uintptr_t)ranges[i].iov_base, .length = ranges[i].iov_len};
        room = ranges[i].iov_len > WD_COPY_BYTES ? WD_COPY_BYTES + 1 : room + ranges[i].iov_len;
    }
    if (count > WD_COPY_RANGES || room > WD_COPY_BYTES) {
        errno = EINVAL;
        return -1;
    }
    struct answer answer;
    struct iovec parts[] = {{.iov_base = &answer, .iov_len = sizeof answer}, {.iov_base = buffer, .iov_len = room}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    size_t request_length = request_head + count * sizeof request.ranges[0];
    ssize_t length = wd_socket_send_with(socket, &request, request_length, &file, file >= 0);
    if (length == 0) length = receive(socket, &message, lingers && is_real_time() ? answer_moment : 0, 0);
    if (length < (ssize_t)sizeof answer) {
        errno = length < 0 && errno == EAGAIN ? ETIMEDOUT : EPIPE;
        return -1;
    }
    if (answer.error == 0) return length - (ssize_t)sizeof answer;
    errno = answer.error;
    return -1;
}

/* -- The copier -- */

static int receive_request(int socket, struct wd_copy_request *request, int *file, int64_t moment) {
    union rights control = {0};
    struct iovec vector = {.iov_base = request, .iov_len = sizeof *request};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length = receive(socket, &message, moment, MSG_CMSG_CLOEXEC);
    *file = -1;
    struct cmsghdr *rights = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (rights != NULL && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
        memcpy(file, CMSG_DATA(rights), sizeof *file);
    bool is_whole = length >= (ssize_t)request_head && request->count <= WD_COPY_RANGES
        && (size_t)length == request_head + request->count * sizeof request->ranges[0];
    uint64_t room = 0;
    for (uint32_t i = 0; is_whole && i < request->count; i++) {
        is_whole = request->ranges[i].length <= WD_COPY_BYTES;
        room += request->ranges[i].length;
    }
    if (is_whole && room <= WD_COPY_BYTES) return 0;
    if (*file >= 0) close(*file);
    return -1;
}

int wd_copy_receive(int socket, struct wd_copy_request *request, int *file) {
    return receive_request(socket, request, file, 0);
}

static ssize_t copy_memory(const struct wd_copy_request *request, void *buffer) {
    struct iovec local = {.iov_base = buffer, .iov_len = 0}, remote[WD_COPY_RANGES];
    for (uint32_t i = 0; i < request->count; i++) {
        local.iov_len += request->ranges[i].length;
        remote[i] = (struct iovec){
            .iov_base = (void *)(uintptr_t)request->ranges[i].start, .iov_len = request->ranges[i].length};
    }
    return process_vm_readv(request->process, &local, 1, remote, request->count, 0);
}

/* ESRCH if the process has no memory anymore. */
static ssize_t copy_file(const struct wd_copy_request *request, int file, char *buffer) {
    size_t total = 0;
    for (uint32_t i = 0; i < request->count; i++) {
        const struct wd_copy_range *range = &request->ranges[i];
        ssize_t got = pread(file, buffer + total, range->length, (off_t)range->start);
        if (got == 0 && total == 0 && range->length > 0 && request->source == WD_COPY_MEMORY_FILE) {
            errno = ESRCH;
            return -1;
        }
        if (got > 0) total += (size_t)got;
        if (got < (ssize_t)range->length) break;
    }
    return (ssize_t)total;
}

static ssize_t copy_named(const struct wd_copy_request *request, const char *name, char *buffer) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/%s", request->process, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = copy_file(request, file, buffer);
    close(file);
    return length;
}

static ssize_t copy(const struct wd_copy_request *request, int file, char *buffer) {
    switch (request->source) {
    case WD_COPY_MEMORY: return copy_memory(request, buffer);
    case WD_COPY_MEMORY_FILE: return copy_file(request, file, buffer);
    case WD_COPY_ARGUMENTS: return copy_named(request, "cmdline", buffer);
    case WD_COPY_ENVIRONMENT: return copy_named(request, "environ", buffer);
    default: errno = EINVAL; return -1;
    }
}

int wd_copy_answer(int socket, const struct wd_copy_request *request, int file) {
    char buffer[WD_COPY_BYTES];
    ssize_t length = copy(request, file, buffer);
    struct answer answer = {.error = length < 0 ? errno : 0};
    if (file >= 0) close(file);
    struct iovec parts[] = {
        {.iov_base = &answer, .iov_len = sizeof answer},
        {.iov_base = buffer, .iov_len = length < 0 ? 0 : (size_t)length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    /* Secrets of the process. */
    if (length > 0) explicit_bzero(buffer, (size_t)length);
    return sent < 0 ? -1 : 0;
}

void wd_copy_serve(int socket, bool is_urgent) {
    static struct wd_copy_request request;
    int file;
    for (int64_t moment = 0; receive_request(socket, &request, &file, moment) == 0;
         moment = is_urgent && request.lingers ? request_moment : 0) {
        wd_die_after(request.limit == 0 ? 1 : request.limit);
        int error = wd_copy_answer(socket, &request, file);
        wd_die_after(0);
        if (error != 0) break;
    }
    _exit(0);
}
