/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "wd_namespace.h"

int wd_enter_private_mounts(void) {
    if (unshare(CLONE_NEWNS) < 0 && (errno != EPERM || wd_enter_user_namespace(CLONE_NEWNS) < 0)) return -1;
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int mount_tmpfs(const char *path, uint64_t size, mode_t mode, uid_t user, gid_t group) {
    char options[128];
    snprintf(
        options, sizeof options, "size=%" PRIu64 ",mode=%o,uid=%u,gid=%u", size, (unsigned)(mode & 07777), user, group);
    return mount("watchdogd-fault", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

int wd_mount_small_disk(const char *path, uint64_t size) {
    struct stat covered;
    if (stat(path, &covered) < 0) return -1;
    if (!S_ISDIR(covered.st_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    /* Another owner has no ID in a user namespace of one's own. */
    if (mount_tmpfs(path, size, covered.st_mode, covered.st_uid, covered.st_gid) < 0 &&
        (errno != EINVAL || mount_tmpfs(path, size, covered.st_mode, geteuid(), getegid()) < 0))
        return -1;
    return open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int wd_fill_disk(int file) {
    /* The app may write meanwhile, so that less is left than was read. */
    for (int turn = 0; turn < 16; turn++) {
        struct statfs disk;
        struct stat own;
        if (fstatfs(file, &disk) < 0 || fstat(file, &own) < 0) return -1;
        if (disk.f_bfree == 0) return 0;
        off_t left = (off_t)disk.f_bfree * disk.f_bsize;
        if (fallocate(file, 0, own.st_size, left) < 0 && errno != ENOSPC && errno != EINTR) return -1;
    }
    errno = EAGAIN;
    return -1;
}
