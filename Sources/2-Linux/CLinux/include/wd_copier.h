/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies of foreign memory, made by a process that can be lost. A page of another process may lie in a file system that
 * never answers, and the kernel lets nobody out of that wait: process_vm_readv(2), proc_pid_mem(5).
 *
 * Both sides of the conversation over a pair of sequenced-packet sockets: one request, one answer.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The most bytes and ranges of one request. */
enum { WD_COPY_BYTES = 64 << 10, WD_COPY_RANGES = 512 };

enum wd_copy_source {
    WD_COPY_MEMORY = 0,      /* ranges of addresses: process_vm_readv(2) */
    WD_COPY_MEMORY_FILE = 1, /* the same from an open /proc/PID/mem that comes with the request: reading needs no right */
    WD_COPY_ARGUMENTS = 2,   /* one range of /proc/PID/cmdline */
    WD_COPY_ENVIRONMENT = 3, /* one range of /proc/PID/environ */
};

struct wd_copy_range {
    uint64_t start, length;
};

struct wd_copy_request {
    uint32_t source; /* enum wd_copy_source */
    int32_t process; /* or a thread */
    uint32_t limit;  /* milliseconds until the kernel kills the copier, if it can */
    uint32_t count;
    uint32_t lingers; /* whether another request follows at once, and no other copier needs the CPU */
    uint32_t reserved;
    struct wd_copy_range ranges[WD_COPY_RANGES];
};

/* -- The side that needs the bytes -- */

/* Makes wd_copy() wait for its answer for at most this many milliseconds. Returns 0, or -1 with errno. */
int wd_copy_limit(int socket, unsigned milliseconds);

/* Has `count` ranges of a process copied, one after the other, into `buffer`, up to the first byte that cannot be read.
 * `file` is an open /proc/PID/mem for WD_COPY_MEMORY_FILE, and otherwise -1. Returns the number of bytes, or -1 with errno:
 * that of the copier, ETIMEDOUT if there is no answer in time, EPIPE if the copier has ended; after these two, the socket
 * is of no use. EINVAL for more than WD_COPY_BYTES or WD_COPY_RANGES. `lingers`: both sides may compute for a moment instead
 * of waiting for each other. */
ssize_t wd_copy(int socket, enum wd_copy_source source, pid_t process, int file, const struct iovec *ranges, size_t count,
                void *buffer, unsigned limit, bool lingers);

/* -- The copier -- */

/* Waits for a request; *file is the descriptor that came with it, or -1. Returns 0, or -1 at the end of the connection and
 * for what is no request. */
int wd_copy_receive(int socket, struct wd_copy_request *request, int *file);

/* Copies and answers, and closes the file. Returns 0, or -1 if nobody takes the answer. */
int wd_copy_answer(int socket, const struct wd_copy_request *request, int file);

/* Serves one connection until its end, as a process that the kernel kills if a copy takes too long. `is_urgent`: it may
 * compute for a moment instead of waiting for the next request, which then takes less time. */
_Noreturn void wd_copy_serve(int socket, bool is_urgent);
