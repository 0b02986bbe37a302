/* SPDX-License-Identifier: Apache-2.0
 *
 * The listening sockets of this network namespace, by sock_diag(7).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Opens a netlink socket for the query, close-on-exec. -1 with errno. */
int wd_listening_open(void);

/* Stores the inodes of all listening TCP and Unix sockets, as many as there is room for. Returns how many were stored, or -1
 * with errno if none of the families can be listed. Does not wait: the kernel answers within the calls. */
long wd_listening_inodes(int netlink, uint32_t *inodes, size_t room);
