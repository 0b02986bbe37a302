/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that take and close the descriptors that strangers pass. close(2), unix(7).
 *
 * Whoever passes a descriptor decides how long its close takes: a TCP socket with SO_LINGER waits for its peer, and a file
 * of FUSE for its server, even if the closing process is killed. So such a descriptor must never be in watchdogd's table,
 * and watchdogd must never drop the last reference to one, or to a queue that holds one. The *source* forks *keepers*. A
 * keeper has a copy of every socket into which strangers can pass descriptors, closes none of them itself, and forks a
 * process for each message to take and each socket to give up. Only those can block; they are given up after
 * WD_CLOSER_PATIENCE.
 *
 * A message belongs to one side at a time: to the keeper from a WD_CLOSER_TAKE to its answer, and to watchdogd otherwise.
 * Who peeks at a message holds its files for a moment, so that a peek during the removal could drop their last references.
 *
 * A watchdogd that executes its program again passes the keeper on, with the count of the processes that are stuck. A new
 * keeper counts those that earlier keepers have left: wd_left_closers.h. They are named `wd-c-` and the number of their owner.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

enum {
    /* How long a process may take to close what it was given before the kernel kills it, in milliseconds. It is left
     * alone if it does not die of that. */
    WD_CLOSER_PATIENCE = 1000,
    /* The maximum number of processes that close at the same time, of one owner and of all. */
    WD_CLOSER_MOST_OF_OWNER = 4,
    WD_CLOSER_MOST = 64,
};

/* Changes with the meaning of a message: a keeper may be older than the program that it serves. */
enum { WD_CLOSER_PROTOCOL = 1 };

enum wd_closer_kind {
    WD_CLOSER_KEEP = 1, /* to the keeper, with a descriptor: keeps a copy of this socket */
    WD_CLOSER_TAKE,     /* to the keeper: removes the next message from the socket, and closes what came with it */
    WD_CLOSER_RELEASE,  /* to the keeper: closes its copy, which may be the last one, with all messages in it */
    WD_CLOSER_SUCCEED,  /* to the keeper, from a new program: all that is kept is left over until it is kept anew */
    WD_CLOSER_FORGET,   /* to the keeper: closes the copies that are still left over, which may be the last ones */
    WD_CLOSER_TAKEN,    /* from the keeper: the message is removed; what came with it is being closed */
    WD_CLOSER_DECLINED, /* from the keeper: the message stays, because no process may or can be created for it now */
    WD_CLOSER_END,      /* to the keeper: the other side has no copies anymore; the keeper ends, with all of its own */
};

struct wd_closer_message {
    uint32_t kind;
    uint32_t owner; /* whose sockets share a limit: a user */
    uint64_t id;    /* identifies the socket; never reused */
};

/* Forks the source, which forks a keeper for each descriptor of a sequenced-packet socket that it receives through `link`.
 * The child has no descriptor but that and /dev/null, no capability, cannot be traced, permits itself only the system calls
 * that it needs. Once the other end of `link` is closed, it ends with its last keeper. A keeper ends with the other end of its
 * socket, but only after the calling process has ended, or ten seconds later if it has not: until then, that process is
 * closing its own copies. A keeper without copies, or after WD_CLOSER_END, ends at once. It first waits for the processes that
 * close, for at most half a second. Returns the child's ID, or -1 with errno. */
pid_t wd_fork_closer_source(int link);

/* Receives an answer without waiting: 1, 0 if there is none, or -1 if the keeper is gone. */
int wd_closer_answer(int keeper, struct wd_closer_message *answer);
