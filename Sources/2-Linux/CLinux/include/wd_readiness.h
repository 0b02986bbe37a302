/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of descriptors behind one descriptor, which is readable when one of them is: epoll(7), which Swift cannot
 * import.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A close-on-exec descriptor; -1 with errno. */
int wd_readiness_create(void);

/* Adds a descriptor to watch for readability, at once or once told to; `token` identifies it. Returns 0, or -1 with
 * errno. */
int wd_readiness_add(int set, int descriptor, uint64_t token, bool watches);

/* Stops or continues to watch a descriptor of the set. Returns 0, or -1 with errno. */
int wd_readiness_watch(int set, int descriptor, uint64_t token, bool watches);

/* Removes a descriptor, which must still be open. */
void wd_readiness_remove(int set, int descriptor);

/* Stores the tokens of up to `capacity` readable descriptors and returns their number. Never waits. */
size_t wd_readiness_poll(int set, uint64_t *tokens, size_t capacity);
