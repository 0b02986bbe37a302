/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening what strangers name.
 */
#pragma once

/* Opens a regular file for reading, close-on-exec. What the name leads to is looked at first: opening a device or a
 * FIFO may have effects (watchdog(4) arms the machine's, a tape rewinds). With `beneath`, the name leads to nothing
 * outside the directory, neither by `..` nor by a link. Returns -1 with errno set; EINVAL for what is no regular
 * file. */
int wd_open_regular(int directory, const char *name, int beneath);
