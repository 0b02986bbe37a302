/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "wd_listening.h"
#include "wd_sock_diag.h"

enum { LISTENING = 10 }; /* include/net/tcp_states.h */

/* stat(2) of a file on these shows a device that is not the superblock's, which sock_diag shows. */
static bool has_other_devices(int file) {
    enum { BCACHEFS = (int)0xca451a4e };
    struct statfs system;
    if (fstatfs(file, &system) < 0) return true;
    switch ((int)system.f_type) {
    case (int)BTRFS_SUPER_MAGIC:
    case (int)OVERLAYFS_SUPER_MAGIC:
    case BCACHEFS: return true;
    default: return false;
    }
}

/* Links are resolved as the process would resolve them. -1 with errno, which is ENOTSUP if this cannot be done. */
static int open_as(int pid, const char *path) {
    char root[32];
    snprintf(root, sizeof root, "/proc/%d/root", pid);
    int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        errno = ENOTSUP;
        return -1;
    }
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int file = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    int error = errno;
    close(directory);
    errno = error;
    return file;
}

enum wd_listening_place_kind wd_listening_place_at(int pid, const char *path, struct wd_listening_place *place) {
    int file = open_as(pid, path);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return WD_PLACE_EMPTY;
    if (file < 0) file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return WD_PLACE_UNKNOWN;
    struct stat status;
    bool is_read = fstat(file, &status) == 0;
    *place = (struct wd_listening_place){
        .inode = (uint32_t)status.st_ino,
        /* The kernel's own encoding: include/linux/kdev_t.h. */
        .device = (uint32_t)(major(status.st_dev) << 20 | minor(status.st_dev)),
        .is_on_any_device = has_other_devices(file),
    };
    close(file);
    if (!is_read) return WD_PLACE_UNKNOWN;
    return S_ISSOCK(status.st_mode) ? WD_PLACE_SOCKET : WD_PLACE_EMPTY;
}

struct search {
    const struct wd_listening_place *place;
    uint32_t found;
};

static bool has_name(const char *bytes, size_t length, const struct wd_listening_place *place) {
    if (length == 0 || bytes[0] != 0) return false;
    /* Some programs bind all bytes of the address, of which the last ones are zero. */
    while (length > 1 && bytes[length - 1] == 0) length--;
    return length - 1 == place->name_length && memcmp(bytes + 1, place->name, length - 1) == 0;
}

static bool take(const void *message, size_t length, void *context) {
    const struct unix_diag_msg *socket = message;
    struct search *search = context;
    int rest = (int)(length - sizeof *socket);
    for (const struct rtattr *attribute = (const void *)(socket + 1); RTA_OK(attribute, rest);
         attribute = RTA_NEXT(attribute, rest)) {
        bool is_it = false;
        if (attribute->rta_type == UNIX_DIAG_VFS && RTA_PAYLOAD(attribute) >= sizeof(struct unix_diag_vfs)) {
            struct unix_diag_vfs file;
            memcpy(&file, RTA_DATA(attribute), sizeof file);
            is_it = search->place->name == NULL && file.udiag_vfs_ino == search->place->inode &&
                    (search->place->is_on_any_device || file.udiag_vfs_dev == search->place->device);
        } else if (attribute->rta_type == UNIX_DIAG_NAME && search->place->name != NULL) {
            is_it = has_name(RTA_DATA(attribute), RTA_PAYLOAD(attribute), search->place);
        }
        if (is_it) search->found = socket->udiag_ino;
    }
    return search->found == 0;
}

int wd_listening_find(const struct wd_listening_place *place, uint32_t *socket) {
    int netlink = wd_sock_diag_open();
    if (netlink < 0) return -1;
    struct unix_diag_req request = {
        .sdiag_family = AF_UNIX,
        .udiag_states = 1U << LISTENING,
        .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS,
    };
    struct search search = {place, 0};
    struct wd_sock_diag_answer answer = {sizeof(struct unix_diag_msg), WD_SOCK_DIAG_ALL, take, &search};
    int result = wd_sock_diag_ask(netlink, true, &request, sizeof request, &answer);
    int error = errno;
    close(netlink);
    *socket = search.found;
    /* EINTR: a socket that was missed while others came and went is there the next time. */
    if (search.found != 0 || result == 0 || error == EINTR) return 0;
    errno = error;
    return -1;
}
