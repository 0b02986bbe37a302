/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about sockets, and the kernel's answers: sock_diag(7), netlink(7).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is expected of an answer, and what takes it. */
struct wd_sock_diag_answer {
    /* The size of the fixed part of each message, such as struct unix_diag_msg. */
    size_t least;
    /* The most datagrams that are read: WD_SOCK_DIAG_ONE or WD_SOCK_DIAG_ALL. */
    unsigned limit;
    /* Called for each message, of length bytes, at least the least; it is aligned as netlink(7) aligns it, and valid
     * during the call. Returns whether more is wanted. */
    bool (*take)(const void *message, size_t length, void *context);
    void *context;
};

enum {
    /* For a question about one socket: its answer, and stale ones before it. */
    WD_SOCK_DIAG_ONE = 16,
    /* For a question about all sockets that match: millions of them. */
    WD_SOCK_DIAG_ALL = 1 << 14,
};

/* Opens a socket for questions about this network namespace, non-blocking and close-on-exec. -1 with errno. */
int wd_sock_diag_open(void);

/* Asks about one socket, or about all that match, and has each message of the answer taken. The request is the
 * structure that follows the header, such as struct unix_diag_req. Does not wait: the sender itself handles netlink(7)
 * requests, so the first part of the answer exists once the request is sent, and each further part once the one before
 * is read.
 *
 * Returns 0 if the answer is complete or nothing more is wanted, or -1 with errno; what came before an error has been
 * taken. Close the socket if an answer to a question about all is not read to its end: until then, the kernel refuses
 * further ones (EBUSY). Other errors than those of the socket:
 * - the kernel's own (NLMSG_ERROR, NLMSG_DONE), such as ENOENT if there is no such socket or no module for the family;
 * - EINTR if the answer has ended, but the sockets changed meanwhile (NLM_F_DUMP_INTR): some may be missing, or have
 *   been taken twice;
 * - EPROTO if a message is truncated or not of the expected kind;
 * - EMSGSIZE if the answer exceeds the limit. */
int wd_sock_diag_ask(int netlink, bool all, const void *request, size_t length,
                     const struct wd_sock_diag_answer *answer);

/* Reads the answer to the question with this sequence number, and skips older answers that were not read to their end.
 * Returns as wd_sock_diag_ask does. */
int wd_sock_diag_read(int netlink, uint32_t sequence, const struct wd_sock_diag_answer *answer);

/* Asks with a socket of its own. *is_found is set by what takes the answer. Returns 0 if it is true in the end, whatever came
 * after it; otherwise -1 with errno as wd_sock_diag_ask, or ENOENT if the whole answer was taken. */
int wd_sock_diag_find(bool all, const void *request, size_t length, const struct wd_sock_diag_answer *answer,
                      const bool *is_found);
