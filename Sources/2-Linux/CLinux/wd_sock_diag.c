/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_sock_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* What to do after a message. */
enum step { FAILED = -1, ENDED = 0, MORE = 1 };

int wd_sock_diag_open(void) {
    return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

static enum step fail(int error) {
    errno = error;
    return FAILED;
}

/* NLMSG_DONE ends with the result of the kernel's dump function, negative for an error: netlink_dump_done(),
 * net/netlink/af_netlink.c. */
static enum step end(const struct nlmsghdr *header, bool was_interrupted) {
    int result = 0;
    if (header->nlmsg_len >= NLMSG_LENGTH(sizeof result)) memcpy(&result, NLMSG_DATA(header), sizeof result);
    if (result < 0) return fail(-result);
    return was_interrupted ? fail(EINTR) : ENDED;
}

static enum step refuse(const struct nlmsghdr *header) {
    const struct nlmsgerr *error = NLMSG_DATA(header);
    bool says_why = header->nlmsg_len >= NLMSG_LENGTH(sizeof *error) && error->error < 0;
    return fail(says_why ? -error->error : EPROTO);
}

static enum step handle(const struct nlmsghdr *header, const struct wd_sock_diag_answer *answer,
                        bool *was_interrupted) {
    if (header->nlmsg_flags & NLM_F_DUMP_INTR) *was_interrupted = true;
    switch (header->nlmsg_type) {
    case NLMSG_NOOP: return MORE;
    case NLMSG_DONE: return end(header, *was_interrupted);
    case NLMSG_ERROR: return refuse(header);
    case SOCK_DIAG_BY_FAMILY: break;
    default: return fail(EPROTO);
    }
    if (header->nlmsg_len < NLMSG_LENGTH(answer->least)) return fail(EPROTO);
    if (!answer->take(NLMSG_DATA(header), NLMSG_PAYLOAD(header, 0), answer->context)) return ENDED;
    /* The answer about one socket is one message, without NLMSG_DONE. */
    return header->nlmsg_flags & NLM_F_MULTI ? MORE : ENDED;
}

/* NLMSG_OK compares signed and unsigned numbers and takes a truncated message for the end. */
static enum step read_datagram(int netlink, uint32_t sequence, const struct wd_sock_diag_answer *answer,
                               bool *was_interrupted) {
    union {
        struct nlmsghdr header;
        char bytes[32768]; /* as much as the kernel puts into one datagram: netlink_dump(), net/netlink/af_netlink.c */
    } datagram;
    ssize_t received;
    do {
        received = recv(netlink, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return FAILED;
    size_t size = (size_t)received;
    /* MSG_TRUNC: the size is that of the whole datagram. */
    if (size < sizeof datagram.header || size > sizeof datagram) return fail(EPROTO);
    for (size_t start = 0; start < size;) {
        const struct nlmsghdr *header = (const void *)(datagram.bytes + start);
        size_t rest = size - start;
        if (rest < sizeof *header || header->nlmsg_len < sizeof *header || header->nlmsg_len > rest)
            return fail(EPROTO);
        if (header->nlmsg_seq == sequence) {
            enum step step = handle(header, answer, was_interrupted);
            if (step != MORE) return step;
        }
        start += NLMSG_ALIGN(header->nlmsg_len);
    }
    return MORE;
}

int wd_sock_diag_read(int netlink, uint32_t sequence, const struct wd_sock_diag_answer *answer) {
    bool was_interrupted = false;
    for (unsigned datagram = 0; datagram < answer->limit; datagram++) {
        enum step step = read_datagram(netlink, sequence, answer, &was_interrupted);
        if (step != MORE) return step;
    }
    return fail(EMSGSIZE);
}

int wd_sock_diag_ask(int netlink, bool all, const void *request, size_t length,
                     const struct wd_sock_diag_answer *answer) {
    static _Atomic uint32_t counter;
    struct nlmsghdr header = {
        .nlmsg_len = NLMSG_LENGTH(length),
        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
        .nlmsg_flags = NLM_F_REQUEST | (all ? NLM_F_DUMP : 0),
        .nlmsg_seq = ++counter,
    };
    struct iovec parts[] = {{&header, sizeof header}, {(void *)request, length}};
    struct msghdr question = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;
    do {
        sent = sendmsg(netlink, &question, MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) return -1;
    return wd_sock_diag_read(netlink, header.nlmsg_seq, answer);
}

int wd_sock_diag_find(bool all, const void *request, size_t length, const struct wd_sock_diag_answer *answer,
                      const bool *is_found) {
    int netlink = wd_sock_diag_open();
    if (netlink < 0) return -1;
    int error = wd_sock_diag_ask(netlink, all, request, length, answer) == 0 ? ENOENT : errno;
    close(netlink);
    if (*is_found) return 0;
    errno = error;
    return -1;
}
