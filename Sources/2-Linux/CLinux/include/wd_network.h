/* SPDX-License-Identifier: Apache-2.0
 *
 * A network namespace of one's own: network_namespaces(7).
 */
#pragma once

/* Moves the calling thread, and with it the processes that it starts from now on, to a new network namespace that has only a
 * loopback device, which is up. Without CAP_SYS_ADMIN, it gets a user namespace first, in which its IDs stay the same; the
 * process must then have only one thread. 0, or -1 with errno. */
int wd_enter_empty_network(void);
