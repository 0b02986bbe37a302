/* SPDX-License-Identifier: Apache-2.0
 *
 * A small disk that only the caller and its children see: mount_namespaces(7), tmpfs(5).
 */
#pragma once
#include <stdint.h>

/* Moves the calling process, and what it starts from now on, to a mount namespace of its own, from which nothing
 * spreads. Without CAP_SYS_ADMIN, it gets a user namespace first, in which its IDs stay the same; it must have only one
 * thread. 0, or -1 with errno. */
int wd_enter_private_mounts(void);

/* Mounts an empty tmpfs of this size over a folder, with the folder's mode and, as far as possible, owner. Returns a
 * descriptor of a file in it without a name, or -1 with errno. */
int wd_mount_small_disk(const char *path, uint64_t size);

/* Gives the file all space that the disk has left. 0, or -1 with errno. */
int wd_fill_disk(int file);
