/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the peer has accepted a connection: sock_diag(7). connect(2) succeeds as soon as the kernel has queued a
 * connection on a listening socket, even if the process that should accept it has long been stuck.
 */
#pragma once
#include <stdint.h>

enum wd_acceptance {
    WD_ACCEPTED = 1,
    /* The connection is in the queue of the listening socket. */
    WD_NOT_ACCEPTED = 0,
    /* The kernel withholds the connection from the listening socket: it awaits data (TCP_DEFER_ACCEPT, tcp(7)), or the
     * queue is full. */
    WD_WITHHELD = 2,
    /* The peer is on another machine or in another namespace, or the kernel does not say. */
    WD_ACCEPTANCE_UNKNOWN = -1,
};

/* A socket for the queries, non-blocking and close-on-exec; -1 with errno. */
int wd_acceptance_open(void);

/* Queries a connected TCP or Unix stream socket of this process; never waits. *inode is that of the socket that was
 * accepted, or 0 if it is not known. */
enum wd_acceptance wd_acceptance_ask(int diagnosis, int connection, uint32_t *inode);
