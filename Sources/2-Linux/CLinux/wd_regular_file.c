/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_path(int directory, const char *name, int beneath) {
    /* openat2(2) has no wrapper, and seccomp filters reject it because they cannot inspect its argument. */
    if (!beneath) return openat(directory, name, O_PATH | O_CLOEXEC);
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
}

int wd_open_regular(int directory, const char *name, int beneath) {
    int place = open_path(directory, name, beneath);
    if (place < 0) return -1;
    struct stat status;
    int file = -1, error = EINVAL;
    if (fstat(place, &status) != 0) {
        error = errno;
    } else if (S_ISREG(status.st_mode)) {
        /* This link leads to the very file that was checked, even if the name now belongs to another one. */
        char link[32];
        snprintf(link, sizeof link, "/proc/self/fd/%d", place);
        /* O_NONBLOCK: do not wait for another process to release a lease. */
        file = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        error = errno;
    }
    close(place);
    if (file < 0) errno = error;
    return file;
}

bool wd_is_mount_point(const char *path) {
    struct statx status;
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status) == 0 && (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

bool wd_may_have_access_list(int descriptor) {
    /* fgetxattr(2) refuses descriptors of O_PATH. */
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    return getxattr(link, "system.posix_acl_access", NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP);
}
