/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix sockets with control messages, whose macros Swift cannot use. unix(7), cmsg(3).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The maximum number of descriptors in one message of ours, and in one from anyone: SCM_MAX_FD, net/core/scm.h. */
enum { WD_SOCKET_MAX_DESCRIPTORS = 16, WD_SOCKET_MOST_DESCRIPTORS = 253 };

struct wd_socket_message {
    size_t length;     /* bytes stored */
    bool truncated;    /* the datagram was longer than the buffer */
    bool end;          /* nothing received: the peer has closed its end (sequenced packets only) */
    pid_t pid;         /* the sender, by SO_PASSCRED; 0 if it is outside our pid namespace or unknown */
    uid_t user;
    gid_t group;
    int sender;        /* the sender as a pidfd, which the caller closes; -1 unless asked for and given */
    bool is_reaped;    /* the sender was asked for and was reaped, and the kernel keeps nothing of it */
    int64_t age;       /* nanoseconds since it was sent, for a bound datagram socket; 0 if unknown */
    bool has_descriptors;    /* of a peek: others came with it */
    size_t descriptor_count; /* of a receipt: stored ones */
};

/* What the kernel tells of the origin of a socket's messages; a peek must know exactly. */
enum wd_socket_origin {
    WD_ORIGIN_NONE,   /* nothing: a stream */
    WD_ORIGIN_SENDER, /* the sender: wd_socket_pair() */
    WD_ORIGIN_AGE,    /* the sender and the time: wd_socket_tell_origin() */
};

/* Looks at the first datagram, or the first bytes of a stream, without waiting, without removing it, and without
 * receiving the descriptors that came with it: those of a stranger would take as long to close as the stranger likes. The
 * next call finds the same. Returns 0, or -1 with errno: EAGAIN if there is none. If no
 * descriptors came with a datagram, removing it closes nothing. */
int wd_socket_peek(int socket, enum wd_socket_origin origin, void *buffer, size_t capacity,
                   struct wd_socket_message *message);

/* Adds the sender of the first datagram as a pidfd, which the kernel gives since Linux 6.5. Only for one without descriptors,
 * for which there is room here. Not part of the peek: most senders are known. */
void wd_socket_identify(int socket, struct wd_socket_message *message);

/* With 0, each further peek looks at what follows the one before; -1 ends that. Returns 0, or -1 with errno. */
int wd_socket_peek_from(int socket, int offset);

/* Receives and removes one datagram, without waiting, with its descriptors, close-on-exec: for those of strangers only
 * where a close that never returns does no harm. `descriptors` has room for WD_SOCKET_MOST_DESCRIPTORS. Returns 0, or -1
 * with errno: EAGAIN if there is none. For a stream, 0 bytes mean its end. */
int wd_socket_receive(int socket, void *buffer, size_t capacity, struct wd_socket_message *message, int *descriptors);

/* Makes the kernel refuse descriptors that others try to pass to the socket; they get EPERM. -1 before Linux 6.16. */
int wd_socket_refuse_descriptors(int socket);

/* Removes one datagram without reading it. Only for one without descriptors: their last references would go here. */
void wd_socket_discard(int socket);

/* Sends one datagram without waiting and without SIGPIPE. Returns 0, or -1 with errno. */
int wd_socket_send(int socket, const void *bytes, size_t length);

/* The same with up to WD_SOCKET_MAX_DESCRIPTORS descriptors. EINVAL for more. */
int wd_socket_send_with(int socket, const void *bytes, size_t length, const int *descriptors, size_t count);

/* A datagram socket connected to a path, or to an abstract name if `name` begins with '@'. -1 with errno. */
int wd_socket_connect_datagram(const char *name);

/* Makes a socket report the age of its messages and their senders. -1 with errno if it will not report the latter. */
int wd_socket_tell_origin(int socket);

/* Makes a socket whose former owner was told senders as pidfds report none by itself. */
void wd_socket_tell_no_pidfds(int socket);

/* A datagram socket bound to a path, or to an abstract name if `name` begins with '@'. It reports the origin of messages, as
 * wd_socket_tell_origin() says. Its receive buffer has `receive_buffer` bytes, or as close to that as permitted. -1 with
 * errno. */
int wd_socket_bind_datagram(const char *name, int receive_buffer);

/* A pair of sequenced-packet sockets; the first one reports senders. -1 with errno. */
int wd_socket_pair(int ends[2]);

/* The maximum length of a Unix socket's name, without NUL. */
extern const size_t wd_socket_longest_name;
