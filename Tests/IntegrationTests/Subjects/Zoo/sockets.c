// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "zoo.h"

void connected(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], (struct sockaddr *)&address, length) != 0) fail("connect");
    ends[1] = accept(listener, NULL, NULL);
}
KIND(tcp_receive) {
    int ends[2];
    char byte;
    connected(ends);
    if (recv(ends[0], &byte, 1, 0) < 0) fail("recv");
}
KIND(tcp_send) {
    static char block[64 << 20];
    int ends[2];
    connected(ends);
    if (send(ends[0], block, sizeof block, 0) < 0) fail("send");
}
static int unix_listener(struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "zoo-%d", getpid());
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)address, sizeof *address) != 0 || listen(listener, 0) != 0) fail("listen");
    return listener;
}
KIND(unix_accept) {
    struct sockaddr_un address;
    accept(unix_listener(&address), NULL, NULL);
}
KIND(unix_connect) {
    struct sockaddr_un address;
    unix_listener(&address);
    for (;;)
        if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
}
KIND(udp_receive) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int end = socket(AF_INET, SOCK_DGRAM, 0);
    char byte;
    bind(end, (struct sockaddr *)&address, sizeof address);
    if (recvfrom(end, &byte, 1, 0, NULL, NULL) < 0) fail("recvfrom");
}
KIND(socketpair_message) {
    int ends[2];
    struct msghdr message = {0};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) fail("socketpair");
    if (recvmsg(ends[0], &message, 0) < 0) fail("recvmsg");
}

static int ends_of_pair[2];
static void keep_other_end(void) {
    close(ends_of_pair[0]);
    child_is_ready();
}
KIND(unix_receive_of_child) {
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of_pair) != 0) fail("socketpair");
    child(keep_other_end);
    close(ends_of_pair[1]);
    if (recv(ends_of_pair[0], &byte, 1, 0) < 0) fail("recv");
}
KIND(unix_send) {
    static char block[64 << 20];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) fail("socketpair");
    if (send(ends[0], block, sizeof block, 0) < 0) fail("send");
}
KIND(unix_datagram_send) {
    char block[4096] = {0};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) fail("socketpair");
    for (;;)
        if (send(ends[0], block, sizeof block, 0) < 0) fail("send");
}
KIND(sequenced_receive) {
    char byte;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) fail("socketpair");
    if (recv(ends[0], &byte, 1, 0) < 0) fail("recv");
}
KIND(several_messages) {
    struct mmsghdr message = {0};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) fail("socketpair");
    if (recvmmsg(ends[0], &message, 1, 0, NULL) < 0) fail("recvmmsg");
}
static struct sockaddr_in listening(int *listener, int backlog) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    *listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(*listener, (struct sockaddr *)&address, length) != 0 || listen(*listener, backlog) != 0) fail("listen");
    getsockname(*listener, (struct sockaddr *)&address, &length);
    return address;
}
KIND(tcp_accept) {
    int listener;
    listening(&listener, 1);
    if (accept(listener, NULL, NULL) < 0) fail("accept");
}
// The listener's queue is full, so that the next handshake never ends.
KIND(tcp_connect) {
    int listener;
    struct sockaddr_in address = listening(&listener, 0);
    for (;;)
        if (connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
}
KIND(tcp_peek) {
    int ends[2];
    char byte;
    connected(ends);
    if (recv(ends[0], &byte, 1, MSG_PEEK) < 0) fail("recv");
}
KIND(tcp_read) {
    int ends[2];
    char byte;
    connected(ends);
    if (read(ends[0], &byte, 1) < 0) fail("read");
}
KIND(tcp_rest_of_message) {
    int ends[2];
    char bytes[8];
    connected(ends);
    if (send(ends[1], "half", 4, 0) != 4) fail("send");
    if (recv(ends[0], bytes, sizeof bytes, MSG_WAITALL) < 0) fail("recv");
}
KIND(tcp_sendfile) {
    int ends[2], file = (int)syscall(SYS_memfd_create, "zoo", 0);
    connected(ends);
    if (ftruncate(file, 64 << 20) != 0) fail("ftruncate");
    if (sendfile(ends[0], file, NULL, 64 << 20) < 0) fail("sendfile");
}
KIND(tcp6_receive) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET6, SOCK_STREAM, 0), end = socket(AF_INET6, SOCK_STREAM, 0);
    char byte;
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    if (connect(end, (struct sockaddr *)&address, length) != 0) fail("connect");
    if (recv(end, &byte, 1, 0) < 0) fail("recv");
}
static struct sockaddr_in other_address;
static void accept_and_stop(void) {
    int listener = ends_of_pair[0];
    child_is_ready();
    accept(listener, NULL, NULL);
    raise(SIGSTOP);
}
KIND(tcp_of_stopped_peer) {
    char byte;
    other_address = listening(&ends_of_pair[0], 1);
    child(accept_and_stop);
    close(ends_of_pair[0]);
    int end = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(end, (struct sockaddr *)&other_address, sizeof other_address) != 0) fail("connect");
    if (recv(end, &byte, 1, 0) < 0) fail("recv");
}
KIND(raw_netlink) {
    char bytes[64];
    int end = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (end < 0) fail("netlink");
    if (recv(end, bytes, sizeof bytes, 0) < 0) fail("recv");
}
