/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel knows about a TCP or UDP socket of another process, in a time that does not depend on how many sockets
 * there are, unlike the tables in /proc/PID/net.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wd_internet_address {
    uint8_t bytes[16]; /* in network order; 4 of them for IPv4 */
    uint8_t length;    /* 4 or 16 */
    uint16_t port;
};

struct wd_internet_socket {
    uint64_t inode;
    bool is_tcp;
    struct wd_internet_address local;
    bool has_peer;
    struct wd_internet_address peer;
    uint8_t state;          /* include/net/tcp_states.h */
    uint32_t send_queue;    /* bytes sent but not acknowledged; of a UDP socket, bytes not sent */
    uint32_t receive_queue; /* bytes not read; of a listening socket, connections not accepted */
};

/* Reads the socket that a process has as a descriptor, through a copy of that descriptor: pidfd_getfd(2), Linux 5.6. The
 * caller needs the right to trace the process.
 *
 * Closing the copy may be the socket's last close and then takes as long as SO_LINGER says: only for processes in which
 * nobody waits. -1 with errno; EPROTONOSUPPORT for a socket of another kind. */
int wd_internet_socket_query(pid_t process, int number, struct wd_internet_socket *found);

/* Adds the peer to a TCP socket that asks for a connection, which getpeername(2) does not name: sock_diag(7). The kernel looks
 * through the sockets of this network namespace, 10 ms for 100,000, but copies only those that ask for one, too, from the same
 * port. Does not wait. 0, or -1 with errno; ENOENT if there is no such socket in this namespace. */
int wd_internet_socket_find_peer(struct wd_internet_socket *found);

/* The inode of the socket at the other end of a TCP connection within this network namespace: sock_diag(7), which finds it by
 * its addresses. 0 for a connection that nobody has accepted. Does not wait. 0, or -1 with errno; ENOENT if it is elsewhere. */
int wd_internet_socket_find_other_end(const struct wd_internet_socket *socket, uint32_t *inode);

/* The inode of the socket that listens at the address of the other end, where connections wait to be accepted: sock_diag(7),
 * within this network namespace. Does not wait. 0, or -1 with errno; ENOENT if none listens there. */
int wd_internet_socket_find_listener(const struct wd_internet_socket *socket, uint32_t *inode);
