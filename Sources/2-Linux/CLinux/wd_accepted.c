/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_accepted.h"

#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "wd_sock_diag.h"

/* include/net/tcp_states.h */
enum { ESTABLISHED = 1, SYN_RECEIVED = 3, CLOSE_WAIT = 8, LISTENING = 10, NEW_SYN_RECEIVED = 12 };

int wd_acceptance_open(void) { return wd_sock_diag_open(); }

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

struct found {
    enum wd_acceptance acceptance;
    uint32_t inode;
};

static bool take_internet(const void *message, size_t length, void *context) {
    (void)length;
    const struct inet_diag_msg *other = message;
    struct found *found = context;
    switch (other->idiag_state) {
    /* If the connection no longer exists, the query finds the listening socket: the connection was accepted and
     * closed again. A connection to another machine may find it too, if it listens on all addresses. */
    case LISTENING:
        found->acceptance = WD_ACCEPTANCE_UNKNOWN;
        break;
    /* A request that tcp_check_req(), net/ipv4/tcp_minisocks.c, has not turned into a socket. */
    case SYN_RECEIVED:
    case NEW_SYN_RECEIVED:
        found->acceptance = WD_WITHHELD;
        break;
    case ESTABLISHED:
    case CLOSE_WAIT:
        /* A socket that no process has received from accept has no inode: sock_i_ino(), net/core/sock.c. */
        found->acceptance = other->idiag_inode != 0 ? WD_ACCEPTED : WD_NOT_ACCEPTED;
        found->inode = other->idiag_inode;
        break;
    /* The program has closed its end. */
    default:
        found->acceptance = WD_ACCEPTED;
    }
    return false;
}

static void ask(int diagnosis, const void *request, size_t length, struct wd_sock_diag_answer *answer,
                struct found *found) {
    answer->limit = WD_SOCK_DIAG_ONE;
    answer->context = found;
    if (wd_sock_diag_ask(diagnosis, false, request, length, answer) != 0)
        *found = (struct found){WD_ACCEPTANCE_UNKNOWN, 0};
}

static void ask_internet(int diagnosis, int connection, const struct sockaddr_storage *ours, struct found *found) {
    struct sockaddr_storage theirs;
    socklen_t size = sizeof theirs;
    if (getpeername(connection, (struct sockaddr *)&theirs, &size) < 0) return;
    struct inet_diag_req_v2 request = {
        .sdiag_family = ours->ss_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u};
    fill_internet(&request.id, ours, &theirs);
    struct wd_sock_diag_answer answer = {.least = sizeof(struct inet_diag_msg), .take = take_internet};
    ask(diagnosis, &request, sizeof request, &answer, found);
}

static bool take_unix(const void *message, size_t length, void *context) {
    const struct unix_diag_msg *socket = message;
    struct found *found = context;
    size_t rest = length - sizeof *socket;
    for (const struct rtattr *attribute = (const void *)(socket + 1); RTA_OK(attribute, rest);
         attribute = RTA_NEXT(attribute, rest)) {
        if (attribute->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(attribute) < sizeof(uint32_t)) continue;
        memcpy(&found->inode, RTA_DATA(attribute), sizeof found->inode);
        found->acceptance = found->inode != 0 ? WD_ACCEPTED : WD_NOT_ACCEPTED;
        break;
    }
    return false;
}

static void ask_unix(int diagnosis, int connection, struct found *found) {
    struct stat status;
    if (fstat(connection, &status) < 0) return;
    struct unix_diag_req request = {.sdiag_family = AF_UNIX,
                                    .udiag_states = ~0u,
                                    .udiag_ino = status.st_ino,
                                    .udiag_show = UDIAG_SHOW_PEER,
                                    .udiag_cookie = {~0u, ~0u}};
    struct wd_sock_diag_answer answer = {.least = sizeof(struct unix_diag_msg), .take = take_unix};
    ask(diagnosis, &request, sizeof request, &answer, found);
}

enum wd_acceptance wd_acceptance_ask(int diagnosis, int connection, uint32_t *inode) {
    struct found found = {WD_ACCEPTANCE_UNKNOWN, 0};
    struct sockaddr_storage ours;
    socklen_t size = sizeof ours;
    if (getsockname(connection, (struct sockaddr *)&ours, &size) == 0) {
        if (ours.ss_family == AF_INET || ours.ss_family == AF_INET6) ask_internet(diagnosis, connection, &ours, &found);
        if (ours.ss_family == AF_UNIX) ask_unix(diagnosis, connection, &found);
    }
    *inode = found.inode;
    return found.acceptance;
}
