/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_accepted.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* include/net/tcp_states.h */
enum { ESTABLISHED = 1, SYN_RECEIVED = 3, CLOSE_WAIT = 8, LISTENING = 10, NEW_SYN_RECEIVED = 12 };

int wd_acceptance_open(void) {
    return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

/* Sends a request and receives its answer, which the kernel has written before sendto returns: netlink(7). */
static const struct nlmsghdr *exchange(int diagnosis, void *request, size_t length, char *answer, size_t capacity) {
    static _Atomic uint32_t counter;
    uint32_t sequence = ++counter;
    struct nlmsghdr *header = request;
    header->nlmsg_len = length;
    header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    header->nlmsg_flags = NLM_F_REQUEST;
    header->nlmsg_seq = sequence;
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (sendto(diagnosis, request, length, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0) return NULL;
    ssize_t size = recv(diagnosis, answer, capacity, 0);
    const struct nlmsghdr *reply = (const struct nlmsghdr *)answer;
    if (size < (ssize_t)sizeof *reply || !NLMSG_OK(reply, (size_t)size)) return NULL;
    return reply->nlmsg_type == SOCK_DIAG_BY_FAMILY && reply->nlmsg_seq == sequence ? reply : NULL;
}

static void fill_internet(struct inet_diag_sockid *id, const struct sockaddr_storage *ours,
                          const struct sockaddr_storage *theirs) {
    /* From the peer's point of view: its own address is the source. */
    if (ours->ss_family == AF_INET) {
        const struct sockaddr_in *own = (const void *)ours, *other = (const void *)theirs;
        id->idiag_sport = other->sin_port;
        id->idiag_dport = own->sin_port;
        memcpy(id->idiag_src, &other->sin_addr, sizeof other->sin_addr);
        memcpy(id->idiag_dst, &own->sin_addr, sizeof own->sin_addr);
    } else {
        const struct sockaddr_in6 *own = (const void *)ours, *other = (const void *)theirs;
        id->idiag_sport = other->sin6_port;
        id->idiag_dport = own->sin6_port;
        memcpy(id->idiag_src, &other->sin6_addr, sizeof other->sin6_addr);
        memcpy(id->idiag_dst, &own->sin6_addr, sizeof own->sin6_addr);
    }
    id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

static enum wd_acceptance ask_internet(int diagnosis, int connection, const struct sockaddr_storage *ours) {
    struct sockaddr_storage theirs;
    socklen_t size = sizeof theirs;
    if (getpeername(connection, (struct sockaddr *)&theirs, &size) < 0) return WD_ACCEPTANCE_UNKNOWN;
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } request = {.body = {.sdiag_family = ours->ss_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u}};
    fill_internet(&request.body.id, ours, &theirs);
    _Alignas(struct nlmsghdr) char answer[4096];
    const struct nlmsghdr *reply = exchange(diagnosis, &request, sizeof request, answer, sizeof answer);
    if (!reply || reply->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return WD_ACCEPTANCE_UNKNOWN;
    const struct inet_diag_msg *other = NLMSG_DATA(reply);
    switch (other->idiag_state) {
    /* If the connection no longer exists, the query finds the listening socket: the connection was accepted and
     * closed again. A connection to another machine may find it too, if it listens on all addresses. */
    case LISTENING:
        return WD_ACCEPTANCE_UNKNOWN;
    /* A request that tcp_check_req(), net/ipv4/tcp_minisocks.c, has not turned into a socket. */
    case SYN_RECEIVED:
    case NEW_SYN_RECEIVED:
        return WD_WITHHELD;
    case ESTABLISHED:
    case CLOSE_WAIT:
        /* A socket that no process has received from accept has no inode: sock_i_ino(), net/core/sock.c. */
        return other->idiag_inode != 0 ? WD_ACCEPTED : WD_NOT_ACCEPTED;
    /* The program has closed its end. */
    default:
        return WD_ACCEPTED;
    }
}

static enum wd_acceptance ask_unix(int diagnosis, int connection) {
    struct stat status;
    if (fstat(connection, &status) < 0) return WD_ACCEPTANCE_UNKNOWN;
    struct {
        struct nlmsghdr header;
        struct unix_diag_req body;
    } request = {.body = {.sdiag_family = AF_UNIX,
                          .udiag_states = ~0u,
                          .udiag_ino = status.st_ino,
                          .udiag_show = UDIAG_SHOW_PEER,
                          .udiag_cookie = {~0u, ~0u}}};
    _Alignas(struct nlmsghdr) char answer[4096];
    const struct nlmsghdr *reply = exchange(diagnosis, &request, sizeof request, answer, sizeof answer);
    size_t fixed = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
    if (!reply || reply->nlmsg_len < fixed) return WD_ACCEPTANCE_UNKNOWN;
    const struct rtattr *attribute = (const void *)((const char *)reply + NLMSG_ALIGN(fixed));
    size_t rest = reply->nlmsg_len - fixed;
    for (; RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
        if (attribute->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(attribute) < sizeof(uint32_t)) continue;
        uint32_t inode;
        memcpy(&inode, RTA_DATA(attribute), sizeof inode);
        return inode != 0 ? WD_ACCEPTED : WD_NOT_ACCEPTED;
    }
    return WD_ACCEPTANCE_UNKNOWN;
}

enum wd_acceptance wd_acceptance_ask(int diagnosis, int connection) {
    struct sockaddr_storage ours;
    socklen_t size = sizeof ours;
    if (getsockname(connection, (struct sockaddr *)&ours, &size) < 0) return WD_ACCEPTANCE_UNKNOWN;
    switch (ours.ss_family) {
    case AF_INET:
    case AF_INET6:
        return ask_internet(diagnosis, connection, &ours);
    case AF_UNIX:
        return ask_unix(diagnosis, connection);
    default:
        return WD_ACCEPTANCE_UNKNOWN;
    }
}
