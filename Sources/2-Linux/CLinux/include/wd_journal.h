/* SPDX-License-Identifier: Apache-2.0
 *
 * Connections to journald. No call waits. All descriptors are close-on-exec; -1 with errno on failure: ENOENT and
 * ECONNREFUSED if journald is not running, EAGAIN if its connection queue is full.
 */
#pragma once
#include <stddef.h>

/* A write-only stream to the socket at `path`, to which `header` has been written. Writing to it blocks, as a program
 * expects of its standard output. sd_journal_stream_fd(3) does the same, but waits for journald in connect(2). */
int wd_journal_stream(const char *path, const void *header, size_t length);

/* A non-blocking datagram socket that sends to the socket at `path`. */
int wd_journal_datagram(const char *path);

/* Sends an entry in a sealed memory file, for entries that do not fit into a datagram:
 * https://systemd.io/JOURNAL_NATIVE_PROTOCOL/. 0, or -1 with errno. */
int wd_journal_send_file(int socket, const void *bytes, size_t length);
