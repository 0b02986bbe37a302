/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the other side has accepted a connection: sock_diag(7). connect(2) succeeds as soon as the kernel has put a
 * connection into the queue of a listening socket, even if the process that ought to accept it has long been stuck.
 */
#pragma once

enum wd_acceptance {
    WD_ACCEPTED = 1,
    /* The connection is in the queue of the listening socket. */
    WD_NOT_ACCEPTED = 0,
    /* The other side is not on this machine or in another namespace, or the kernel does not tell. */
    WD_ACCEPTANCE_UNKNOWN = -1,
};

/* A socket for the questions, non-blocking and close-on-exec; -1 with errno. */
int wd_acceptance_open(void);

/* Asks about a connected TCP or Unix stream socket of ours; never waits. */
enum wd_acceptance wd_acceptance_ask(int diagnosis, int connection);
