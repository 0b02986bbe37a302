/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets whose messages carry credentials and descriptors: unix(7), cmsg(3). All calls are non-blocking; -1 with
 * errno on failure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* SCM_MAX_FD of the kernel: more descriptors never come with one message. */
#define WD_MAX_ATTACHMENTS 253

struct wd_received {
    bool is_truncated;    /* the datagram was longer than the buffer */
    bool has_sender;
    pid_t sender_pid;     /* as the sender's kernel credentials had it; may be gone, may be 0 in another pid namespace */
    uid_t sender_uid;
    gid_t sender_gid;
    int attachment_count;
    int attachments[WD_MAX_ATTACHMENTS]; /* close-on-exec; the caller's to close */
};

/* A connected pair of SOCK_SEQPACKET sockets, close-on-exec. ends[0] is non-blocking, ends[1] is blocking: it is for a
 * client that may know no better. */
int wd_channel(int ends[2]);

/* A bound SOCK_DGRAM socket with SO_PASSCRED and a large receive buffer. An address that begins with NUL is abstract. */
int wd_bind_datagram(const char *address, size_t length);

/* Receives one message. Returns the bytes stored. For a sequenced-packet socket, 0 means that the other end is closed. */
ssize_t wd_receive(int descriptor, void *buffer, size_t size, struct wd_received *received);

/* Sends one message, without SIGPIPE. */
ssize_t wd_send(int descriptor, const void *bytes, size_t length);
