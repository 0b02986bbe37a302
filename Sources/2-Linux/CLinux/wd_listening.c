/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_listening.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "wd_sock_diag.h"

/* include/net/tcp_states.h; Unix sockets use the same number. */
enum { LISTENING = 10 };

struct inodes {
    uint32_t *found;
    size_t room;
    size_t count;
};

int wd_listening_open(void) { return wd_sock_diag_open(); }

static bool take(uint32_t inode, struct inodes *inodes) {
    if (inodes->count < inodes->room) inodes->found[inodes->count++] = inode;
    return true;
}

static bool take_inet(const void *message, size_t length, void *context) {
    (void)length;
    return take(((const struct inet_diag_msg *)message)->idiag_inode, context);
}

static bool take_unix(const void *message, size_t length, void *context) {
    (void)length;
    return take(((const struct unix_diag_msg *)message)->udiag_ino, context);
}

static int ask_inet(int netlink, uint8_t family, struct inodes *inodes) {
    struct inet_diag_req_v2 request = {
        .sdiag_family = family,
        .sdiag_protocol = IPPROTO_TCP,
        .idiag_states = 1U << LISTENING,
    };
    struct wd_sock_diag_answer answer = {sizeof(struct inet_diag_msg), WD_SOCK_DIAG_ALL, take_inet, inodes};
    return wd_sock_diag_ask(netlink, true, &request, sizeof request, &answer);
}

static int ask_unix(int netlink, struct inodes *inodes) {
    struct unix_diag_req request = {.sdiag_family = AF_UNIX, .udiag_states = 1U << LISTENING};
    struct wd_sock_diag_answer answer = {sizeof(struct unix_diag_msg), WD_SOCK_DIAG_ALL, take_unix, inodes};
    return wd_sock_diag_ask(netlink, true, &request, sizeof request, &answer);
}

long wd_listening_inodes(int netlink, uint32_t *inodes, size_t room) {
    static const uint8_t families[] = {AF_INET, AF_INET6, AF_UNIX};
    struct inodes all = {inodes, room, 0};
    bool listed = false;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        int result = families[i] == AF_UNIX ? ask_unix(netlink, &all) : ask_inet(netlink, families[i], &all);
        /* EINTR: a socket that was missed while others came and went is there the next time. */
        if (result == 0 || errno == EINTR) listed = true;
    }
    return listed ? (long)all.count : -1;
}
