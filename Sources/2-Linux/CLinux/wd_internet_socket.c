/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_internet_socket.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wd_process.h"
#include "wd_sock_diag.h"

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static int translate(const union address *address, struct wd_internet_address *result) {
    switch (address->any.sa_family) {
    case AF_INET:
        result->length = sizeof address->four.sin_addr;
        memcpy(result->bytes, &address->four.sin_addr, result->length);
        result->port = ntohs(address->four.sin_port);
        return 0;
    case AF_INET6:
        result->length = sizeof address->six.sin6_addr;
        memcpy(result->bytes, &address->six.sin6_addr, result->length);
        result->port = ntohs(address->six.sin6_port);
        return 0;
    default:
        errno = EPROTONOSUPPORT;
        return -1;
    }
}

static uint32_t count(int socket, unsigned long request) {
    int value = 0;
    return ioctl(socket, request, &value) == 0 && value > 0 ? (uint32_t)value : 0;
}

static int read_tcp(int socket, struct wd_internet_socket *found) {
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return -1;
    found->state = info.tcpi_state;
    /* Of a listening socket, the backlog: net/ipv4/tcp.c, tcp_get_info(). */
    found->receive_queue = info.tcpi_state == TCP_LISTEN ? info.tcpi_unacked : count(socket, SIOCINQ);
    found->send_queue = info.tcpi_state == TCP_LISTEN ? info.tcpi_sacked : count(socket, SIOCOUTQ);
    return 0;
}

/* SIOCINQ is the length of the next datagram, which may be 0. */
static int read_udp(int socket, struct wd_internet_socket *found) {
    uint32_t memory[SK_MEMINFO_VARS] = {0};
    socklen_t length = sizeof memory;
    if (getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory, &length) < 0) return -1;
    found->receive_queue = memory[SK_MEMINFO_RMEM_ALLOC];
    found->send_queue = memory[SK_MEMINFO_WMEM_ALLOC];
    return 0;
}

static int query(int socket, struct wd_internet_socket *found) {
    struct stat status;
    if (fstat(socket, &status) < 0) return -1;
    found->inode = status.st_ino;
    union address address = {0};
    socklen_t length = sizeof address;
    if (getsockname(socket, &address.any, &length) < 0 || translate(&address, &found->local) < 0) return -1;
    memset(&address, 0, sizeof address);
    length = sizeof address;
    found->has_peer = getpeername(socket, &address.any, &length) == 0 && translate(&address, &found->peer) == 0;
    int protocol = 0;
    length = sizeof protocol;
    if (getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) < 0) return -1;
    found->is_tcp = protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP;
    switch (protocol) {
    case IPPROTO_TCP:
    /* Of its first subflow, which is a TCP socket with the same inode, also in sock_diag(7): mptcp_getsockopt(), Linux 5.16. */
    case IPPROTO_MPTCP:
        return read_tcp(socket, found);
    case IPPROTO_UDP:
        return read_udp(socket, found);
    default:
        errno = EPROTONOSUPPORT;
        return -1;
    }
}

int wd_internet_socket_query(pid_t process, int number, struct wd_internet_socket *found) {
    memset(found, 0, sizeof *found);
    int socket = wd_copy_descriptor(process, number);
    if (socket < 0) return -1;
    int result = query(socket, found);
    int error = errno;
    close(socket);
    errno = error;
    return result;
}

/* Whether to look on. */
static bool take_connecting(const void *message, size_t length, void *context) {
    (void)length;
    const struct inet_diag_msg *socket = message;
    struct wd_internet_socket *found = context;
    if (socket->idiag_inode != found->inode) return true;
    found->peer.length = found->local.length;
    memcpy(found->peer.bytes, socket->id.idiag_dst, found->peer.length);
    found->peer.port = ntohs(socket->id.idiag_dport);
    found->has_peer = true;
    return false;
}

int wd_internet_socket_find_peer(struct wd_internet_socket *found) {
    struct inet_diag_req_v2 request = {
        .sdiag_family = found->local.length == 4 ? AF_INET : AF_INET6,
        .sdiag_protocol = IPPROTO_TCP,
        .idiag_states = 1U << TCP_SYN_SENT,
        .id.idiag_sport = htons(found->local.port),
    };
    struct wd_sock_diag_answer answer = {
        .least = sizeof(struct inet_diag_msg),
        .limit = WD_SOCK_DIAG_ALL,
        .take = take_connecting,
        .context = found,
    };
    found->has_peer = false;
    return wd_sock_diag_find(true, &request, sizeof request, &answer, &found->has_peer);
}

struct other_end {
    const struct wd_internet_socket *socket;
    uint32_t inode;
    bool is_found;
};

static bool take_other_end(const void *message, size_t length, void *context) {
    (void)length;
    const struct inet_diag_msg *socket = message;
    struct other_end *end = context;
    /* A socket that listens at the port of another machine's address may be found instead. */
    if (socket->idiag_state == TCP_LISTEN || ntohs(socket->id.idiag_sport) != end->socket->peer.port ||
        ntohs(socket->id.idiag_dport) != end->socket->local.port)
        return false;
    end->inode = socket->idiag_inode;
    end->is_found = true;
    return false;
}

int wd_internet_socket_find_other_end(const struct wd_internet_socket *socket, uint32_t *inode) {
    struct inet_diag_req_v2 request = {
        .sdiag_family = socket->local.length == 4 ? AF_INET : AF_INET6,
        .sdiag_protocol = IPPROTO_TCP,
        .idiag_states = ~0U,
        .id.idiag_sport = htons(socket->peer.port),
        .id.idiag_dport = htons(socket->local.port),
        .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
    };
    memcpy(request.id.idiag_src, socket->peer.bytes, socket->peer.length);
    memcpy(request.id.idiag_dst, socket->local.bytes, socket->local.length);
    struct other_end end = {.socket = socket};
    struct wd_sock_diag_answer answer = {
        .least = sizeof(struct inet_diag_msg),
        .limit = WD_SOCK_DIAG_ONE,
        .take = take_other_end,
        .context = &end,
    };
    int result = wd_sock_diag_find(false, &request, sizeof request, &answer, &end.is_found);
    *inode = end.inode;
    return result;
}

struct listener {
    const struct wd_internet_socket *socket;
    int family;
    uint32_t inode;
    bool is_found;
};

static bool is_any(const void *address, size_t length) {
    static const uint8_t zeros[16];
    return memcmp(address, zeros, length) == 0;
}

/* Whether a socket bound to an address gets what is sent to another one. */
static bool accepts(int family, const __be32 bound[4], const struct wd_internet_address *sent) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const uint8_t *address = (const uint8_t *)bound;
    if (family == AF_INET)
        return is_any(address, 4) || memcmp(address, sent->bytes + (sent->length == 4 ? 0 : 12), 4) == 0;
    if (is_any(address, 16)) return true;
    if (sent->length == 16) return memcmp(address, sent->bytes, 16) == 0;
    return memcmp(address, mapped, 12) == 0 && memcmp(address + 12, sent->bytes, 4) == 0;
}

static bool take_listener(const void *message, size_t length, void *context) {
    (void)length;
    const struct inet_diag_msg *socket = message;
    struct listener *listener = context;
    if (ntohs(socket->id.idiag_sport) != listener->socket->peer.port || socket->idiag_inode == 0 ||
        !accepts(listener->family, socket->id.idiag_src, &listener->socket->peer))
        return true;
    listener->inode = socket->idiag_inode;
    listener->is_found = true;
    return false;
}

int wd_internet_socket_find_listener(const struct wd_internet_socket *socket, uint32_t *inode) {
    const int families[] = {AF_INET, AF_INET6};
    int error = ENOENT;
    *inode = 0;
    for (int index = 0; index < 2; index++) {
        struct inet_diag_req_v2 request = {
            .sdiag_family = (uint8_t)families[index],
            .sdiag_protocol = IPPROTO_TCP,
            .idiag_states = 1U << TCP_LISTEN,
            .id.idiag_sport = htons(socket->peer.port),
        };
        struct listener listener = {.socket = socket, .family = families[index]};
        struct wd_sock_diag_answer answer = {
            .least = sizeof(struct inet_diag_msg),
            .limit = WD_SOCK_DIAG_ALL,
            .take = take_listener,
            .context = &listener,
        };
        if (wd_sock_diag_find(true, &request, sizeof request, &answer, &listener.is_found) == 0) {
            *inode = listener.inode;
            return 0;
        }
        if (errno != ENOENT) error = errno;
    }
    errno = error;
    return -1;
}
