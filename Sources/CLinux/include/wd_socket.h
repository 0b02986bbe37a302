/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets with control messages, whose macros Swift cannot use. unix(7), cmsg(3).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { WD_SOCKET_MAX_DESCRIPTORS = 16 };

struct wd_socket_message {
    size_t length;     /* bytes stored */
    bool truncated;    /* the datagram was longer than the buffer */
    bool end;          /* nothing received: the peer has closed its end (sequenced packets only) */
    pid_t pid;         /* the sender, by SO_PASSCRED; 0 when it is outside our pid namespace or not told */
    uid_t user;
    gid_t group;
    int descriptors[WD_SOCKET_MAX_DESCRIPTORS]; /* attached ones, close-on-exec; the kernel closed those beyond */
    size_t descriptor_count;
};

/* Receives one datagram without waiting. Returns 0, or -1 with errno: EAGAIN when there is none. The caller closes the
 * descriptors. If it `stays`, the next call receives it again. */
int wd_socket_receive(int socket, bool stays, void *buffer, size_t capacity, struct wd_socket_message *message);

/* Takes one datagram out, unread. */
void wd_socket_discard(int socket);

/* Sends one datagram without waiting and without SIGPIPE. Returns 0, or -1 with errno. */
int wd_socket_send(int socket, const void *bytes, size_t length);

/* Sends one datagram with at most WD_SOCKET_MAX_DESCRIPTORS descriptors, in the same way. EINVAL for more. */
int wd_socket_send_with(int socket, const void *bytes, size_t length, const int *descriptors, size_t count);

/* A datagram socket that sends to a path, or to an abstract name if `name` begins with '@'. -1 with errno. */
int wd_socket_connect_datagram(const char *name);

/* A datagram socket bound to a path, or to an abstract name if `name` begins with '@'. It tells who sends
 * (SO_PASSCRED) and has a receive buffer of `receive_buffer` bytes, or as near to that as is allowed. -1 with errno. */
int wd_socket_bind_datagram(const char *name, int receive_buffer);

/* A pair of sequenced-packet sockets; the first tells who sends. -1 with errno. */
int wd_socket_pair(int ends[2]);

/* The longest name of a Unix socket, without NUL. */
extern const size_t wd_socket_longest_name;
