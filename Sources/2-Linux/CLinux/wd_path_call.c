/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_path_call.h"

#include <sys/syscall.h>

#define NONE WD_NO_ARGUMENT
#define PATH(name, path) {SYS_##name, {path, NONE, NONE, NONE}}
#define AT(name, directory, path) {SYS_##name, {path, directory, NONE, NONE}}
#define PATHS(name, first, second) {SYS_##name, {first, NONE, second, NONE}}
#define AT_BOTH(name) {SYS_##name, {1, 0, 3, 2}}

static const struct {
    int number;
    struct wd_path_call call;
} table[] = {
    AT(openat, 0, 1), AT(openat2, 0, 1), AT(newfstatat, 0, 1), AT(statx, 0, 1), AT(faccessat, 0, 1),
    AT(faccessat2, 0, 1), AT(readlinkat, 0, 1), AT(unlinkat, 0, 1), AT(mkdirat, 0, 1), AT(mknodat, 0, 1),
    AT(fchmodat, 0, 1), AT(fchownat, 0, 1), AT(utimensat, 0, 1), AT(execveat, 0, 1), AT(name_to_handle_at, 0, 1),
    AT_BOTH(renameat2), AT_BOTH(linkat),
    /* The first argument of symlink(2) is text. */
    AT(symlinkat, 1, 2),
    PATH(execve, 0), PATH(chdir, 0), PATH(chroot, 0), PATH(truncate, 0), PATH(statfs, 0), PATH(umount2, 0),
    PATH(mount, 1), PATH(inotify_add_watch, 1),
    PATH(getxattr, 0), PATH(lgetxattr, 0), PATH(setxattr, 0), PATH(lsetxattr, 0), PATH(listxattr, 0),
    PATH(llistxattr, 0), PATH(removexattr, 0), PATH(lremovexattr, 0),
    PATH(quotactl, 1), PATH(swapon, 0), PATH(acct, 0), PATH(pivot_root, 0), AT(fanotify_mark, 3, 4),
#ifdef SYS_open_tree
    AT(open_tree, 0, 1), AT_BOTH(move_mount), AT(fspick, 0, 1),
#endif
#ifdef SYS_mount_setattr
    AT(mount_setattr, 0, 1),
#endif
#ifdef SYS_fchmodat2
    AT(fchmodat2, 0, 1),
#endif
#ifdef SYS_renameat
    AT_BOTH(renameat),
#endif
/* Newer architectures have only the calls with "at". */
#ifdef SYS_open
    PATH(open, 0), PATH(creat, 0), PATH(stat, 0), PATH(lstat, 0), PATH(access, 0), PATH(readlink, 0),
    PATH(unlink, 0), PATH(mkdir, 0), PATH(rmdir, 0), PATH(mknod, 0), PATH(chmod, 0), PATH(chown, 0), PATH(lchown, 0),
    PATH(utime, 0), PATH(utimes, 0), AT(futimesat, 0, 1), PATHS(rename, 0, 1), PATHS(link, 0, 1), PATH(symlink, 1),
#endif
};

int8_t wd_open_flags(long number) {
#ifdef SYS_open
    if (number == SYS_open) return 1;
#endif
    return number == SYS_openat ? 2 : WD_NO_ARGUMENT;
}

bool wd_find_path_call(long number, struct wd_path_call *found) {
    for (unsigned index = 0; index < sizeof table / sizeof *table; index++) {
        if (table[index].number != number) continue;
        *found = table[index].call;
        return true;
    }
    return false;
}
