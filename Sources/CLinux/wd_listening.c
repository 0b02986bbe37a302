/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_listening.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* include/net/tcp_states.h; Unix sockets use the same number. */
enum { LISTENING = 10 };

struct inodes {
    uint32_t *found;
    size_t room;
    size_t count;
};

int wd_listening_open(void) {
    return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

static int ask(int netlink, int family) {
    struct {
        struct nlmsghdr header;
        union {
            struct inet_diag_req_v2 inet;
            struct unix_diag_req local;
        } request;
    } question;
    memset(&question, 0, sizeof question);
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (family == AF_UNIX) {
        question.header.nlmsg_len = NLMSG_LENGTH(sizeof question.request.local);
        question.request.local.sdiag_family = AF_UNIX;
        question.request.local.udiag_states = 1U << LISTENING;
    } else {
        question.header.nlmsg_len = NLMSG_LENGTH(sizeof question.request.inet);
        question.request.inet.sdiag_family = (uint8_t)family;
        question.request.inet.sdiag_protocol = IPPROTO_TCP;
        question.request.inet.idiag_states = 1U << LISTENING;
    }
    return send(netlink, &question, question.header.nlmsg_len, MSG_DONTWAIT) < 0 ? -1 : 0;
}

static void take(const struct nlmsghdr *header, int family, struct inodes *inodes) {
    uint32_t inode;
    if (family == AF_UNIX) {
        const struct unix_diag_msg *message = NLMSG_DATA(header);
        if (header->nlmsg_len < NLMSG_LENGTH(sizeof *message)) return;
        inode = message->udiag_ino;
    } else {
        const struct inet_diag_msg *message = NLMSG_DATA(header);
        if (header->nlmsg_len < NLMSG_LENGTH(sizeof *message)) return;
        inode = message->idiag_inode;
    }
    if (inodes->count < inodes->room) inodes->found[inodes->count++] = inode;
}

/* Reads one datagram of an answer. 1: more will come, 0: that was all, -1: error. */
static int read_part(int netlink, int family, struct inodes *inodes) {
    union {
        struct nlmsghdr header;
        char bytes[32768];
    } answer;
    ssize_t received = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT);
    if (received < 0) return -1;
    /* NLMSG_OK compares signed and unsigned numbers. */
    int rest = (int)received;
    for (struct nlmsghdr *header = &answer.header; NLMSG_OK(header, (unsigned)rest); header = NLMSG_NEXT(header, rest)) {
        if (header->nlmsg_type == NLMSG_DONE) return 0;
        if (header->nlmsg_type == NLMSG_ERROR) return errno = EPROTO, -1;
        if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY) take(header, family, inodes);
    }
    return 1;
}

long wd_listening_inodes(int netlink, uint32_t *inodes, size_t room) {
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    struct inodes all = {inodes, room, 0};
    bool listed = false;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (ask(netlink, families[i]) < 0) continue;
        int more;
        while ((more = read_part(netlink, families[i], &all)) > 0) {}
        if (more == 0) listed = true;
    }
    return listed ? (long)all.count : -1;
}
