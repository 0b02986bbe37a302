/* SPDX-License-Identifier: Apache-2.0
 *
 * Unix stream sockets: flags and credentials that Swift's Glibc module does not support. unix(7), accept(2), socket(7).
 *
 * All descriptors are close-on-exec; -1 with errno on failure. New sockets refuse descriptors, and so do connections to
 * one: wd_socket_refuse_descriptors().
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct wd_stream_peer {
    pid_t pid; /* 0 if it is outside our pid namespace */
    uid_t user;
    gid_t group;
};

/* A non-blocking socket that listens at `path`, which must not exist. Only this user may connect until the mode has
 * been changed to `mode`, which the umask does not affect. */
int wd_stream_listen(const char *path, mode_t mode);

/* The next connection, non-blocking; EAGAIN if there is none. */
int wd_stream_accept(int listening);

/* A non-blocking connection to the socket at `path`. Waits up to `milliseconds` while the connection queue is full;
 * EAGAIN if it still is. */
int wd_stream_connect(const char *path, int milliseconds);

/* The credentials of the process that connected, as of that time: SO_PEERCRED. 0 or -1. */
int wd_stream_peer(int socket, struct wd_stream_peer *peer);

/* Whether the descriptor is a listening Unix stream socket. */
bool wd_stream_is_listening(int descriptor);

/* The path that the socket is bound to, or "" if there is none or `capacity` is too small. 0 or -1. */
int wd_stream_path(int socket, char *path, size_t capacity);
