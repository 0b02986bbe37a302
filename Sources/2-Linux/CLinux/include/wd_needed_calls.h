/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls that watchdogd cannot do without, and that an old kernel lacks or the seccomp filter of a container
 * refuses.
 */
#pragma once

/* Returns the name of the first of them that is refused, with errno, which is ENOSYS or EPERM; NULL if none is. Changes
 * nothing. It may start and join a thread. */
const char *wd_find_refused_call(void);
