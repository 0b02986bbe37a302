/* SPDX-License-Identifier: Apache-2.0
 *
 * A user namespace of one's own, for those who may make no other: user_namespaces(7).
 */
#pragma once

/* Moves the calling process, which must have only one thread, to a new user namespace in which its IDs stay the same,
 * and to the new namespaces of these flags of unshare(2). 0, or -1 with errno. */
__attribute__((visibility("hidden"))) int wd_enter_user_namespace(int flags);
