/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of wd_closer.h that an earlier watchdogd left, because the kernel does not let them end. Only for
 * wd_closer.c; no part of the module.
 */
#pragma once
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* A process that closes something is named this and the number of its owner: at most 15 characters, prctl(2). */
#define WD_LEFT_NAME "wd-c-"

/* The kernel sends it to a source whose watchdogd has ended, which has blocked it: /proc shows that at once. */
enum { WD_LEFT_ORPHANED = SIGUSR1 };

struct wd_left_closer {
    int process; /* a pidfd */
    uint32_t owner;
};

/* Finds processes that close something and that no other watchdogd counts: those of sources that have ended or whose
 * watchdogd has, and those of this session. Reads the names of all processes. Stores at most `room`; returns how many.
 *
 * A name proves nothing. One counts only if it has the calling process's IDs, capabilities and restrictions, in the same
 * namespace of processes: no_new_privs disables set-user-ID programs, so for root, only root can make another one. */
size_t wd_find_left_closers(struct wd_left_closer *found, size_t room);
