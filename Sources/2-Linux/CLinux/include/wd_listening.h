/* SPDX-License-Identifier: Apache-2.0
 *
 * The listening sockets of this network namespace, by sock_diag(7).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens a netlink socket for the query, close-on-exec. -1 with errno. */
int wd_listening_open(void);

/* Stores the inodes of all listening TCP and Unix sockets, as many as there is room for. Returns how many were stored, or -1
 * with errno if none of the families can be listed. Does not wait: the kernel answers within the calls. */
long wd_listening_inodes(int netlink, uint32_t *inodes, size_t room);

/* What a Unix socket is bound to: a file, or an abstract name. */
struct wd_listening_place {
    /* An abstract name without its leading zero; NULL for a file. */
    const char *name;
    size_t name_length;
    /* The file's inode number and device, as sock_diag shows them. */
    uint32_t inode;
    uint32_t device;
    /* Whether the device of the file system is unknown, so that the inode number alone decides. */
    bool is_on_any_device;
};

enum wd_listening_place_kind {
    /* There is a socket. */
    WD_PLACE_SOCKET,
    /* There is none for the process, which would see it. */
    WD_PLACE_EMPTY,
    /* It cannot be seen. */
    WD_PLACE_UNKNOWN,
};

/* Finds the file of a path as the process sees it: below its root, in its mount namespace, through links. File systems
 * can make this wait without limit. */
enum wd_listening_place_kind wd_listening_place_at(int pid, const char *path, struct wd_listening_place *place);

/* Finds the socket of this network namespace that listens at a place, whatever name it was bound by; 0 in *socket if
 * none does. Takes as long as the kernel needs for a list of all sockets. -1 with errno if it gives none. */
int wd_listening_find(const struct wd_listening_place *place, uint32_t *socket);
