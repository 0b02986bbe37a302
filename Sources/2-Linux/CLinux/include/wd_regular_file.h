/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens files whose names come from strangers.
 */
#pragma once
#include <stdbool.h>

/* Opens a regular file for reading, close-on-exec. The type is checked before opening, because opening a device or a
 * FIFO may have side effects (watchdog(4) arms the machine's watchdog, a tape rewinds). With `beneath`, the name cannot
 * lead outside the directory, neither by `..` nor by a link. Returns -1 with errno set; EINVAL if it is not a regular
 * file. */
int wd_open_regular(int directory, const char *name, int beneath);

/* Whether something is mounted on this very path, which then cannot be renamed or replaced: STATX_ATTR_MOUNT_ROOT,
 * statx(2). Does not follow a link at the end of the path. */
bool wd_is_mount_point(const char *path);

/* Whether a file or folder, perhaps opened with O_PATH, may have an access control list: acl(5). True if nobody knows, as
 * without /proc. */
bool wd_may_have_access_list(int descriptor);
