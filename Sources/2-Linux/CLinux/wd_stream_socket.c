/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_stream_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "wd_socket.h"

static int fill_address(struct sockaddr_un *address, const char *path) {
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address->sun_path) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length + 1);
    return 0;
}

static int close_keeping_errno(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

/* The mode of the socket that was bound, and not of what somebody else has put in its place, such as a link. */
static int set_mode(const char *path, mode_t mode) {
    int file = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) return -1;
    struct stat status;
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    int result = fstat(file, &status);
    if (result == 0 && (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())) {
        errno = EPERM;
        result = -1;
    }
    /* fchmod(2) takes no descriptor that was opened only as a path. */
    if (result == 0) result = chmod(name, mode);
    int error = errno;
    close(file);
    errno = error;
    return result;
}

int wd_stream_listen(const char *path, mode_t mode) {
    struct sockaddr_un address;
    if (fill_address(&address, path) < 0) return -1;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    /* Before anybody can connect: connections inherit it. */
    wd_socket_refuse_descriptors(descriptor);
    /* The file gets the mode of the socket's own inode, minus the umask: unix_bind_bsd(), net/unix/af_unix.c. */
    if (fchmod(descriptor, 0600) < 0) return close_keeping_errno(descriptor);
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return close_keeping_errno(descriptor);
    if (set_mode(path, mode) < 0 || listen(descriptor, SOMAXCONN) < 0) {
        close_keeping_errno(descriptor);
        int error = errno;
        unlink(path);
        errno = error;
        return -1;
    }
    return descriptor;
}

int wd_stream_accept(int listening) {
    int descriptor;
    do descriptor = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

int wd_stream_connect(const char *path, int milliseconds) {
    struct sockaddr_un address;
    if (fill_address(&address, path) < 0) return -1;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    wd_socket_refuse_descriptors(descriptor);
    /* 0 would mean to wait forever: socket(7). */
    struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    if (milliseconds <= 0) limit.tv_usec = 1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0)
        return close_keeping_errno(descriptor);
    int result;
    do result = connect(descriptor, (struct sockaddr *)&address, sizeof address);
    while (result < 0 && errno == EINTR);
    if (result < 0 || fcntl(descriptor, F_SETFL, O_RDWR | O_NONBLOCK) < 0) return close_keeping_errno(descriptor);
    return descriptor;
}

int wd_stream_peer(int socket, struct wd_stream_peer *peer) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return -1;
    peer->pid = credentials.pid;
    peer->user = credentials.uid;
    peer->group = credentials.gid;
    return 0;
}

static int option(int socket, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(socket, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

bool wd_stream_is_listening(int descriptor) {
    return option(descriptor, SO_DOMAIN) == AF_UNIX && option(descriptor, SO_TYPE) == SOCK_STREAM &&
           option(descriptor, SO_ACCEPTCONN) == 1;
}

int wd_stream_path(int socket, char *path, size_t capacity) {
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &size) < 0) return -1;
    /* A path of maximum length has no NUL. */
    size_t length = strnlen(address.sun_path, sizeof address.sun_path);
    if (length >= capacity) length = 0;
    memcpy(path, address.sun_path, length);
    path[length] = 0;
    return 0;
}
