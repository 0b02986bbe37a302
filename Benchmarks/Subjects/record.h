/* SPDX-License-Identifier: Apache-2.0
 *
 * What subjects write to their standard output: 16 bytes at a time, which a pipe keeps together.
 */
#pragma once
#include <stdint.h>

enum record_kind {
    RECORD_ENTRY = 0,        /* first thing in the program; for stamp.c its first instructions */
    RECORD_SIGN_OF_LIFE = 1, /* taken right before the datagram was sent */
    RECORD_SETTLED = 2,      /* everything is set up, all threads are about to block forever */
    RECORD_WITNESS = 3,      /* from the witness of hang.c */
};

struct record {
    int32_t pid;
    int32_t kind;
    int64_t monotonic_nanoseconds;
};
