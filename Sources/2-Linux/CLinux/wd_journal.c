/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_journal.h"
#include "wd_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int close_keeping_errno(int descriptor) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

static int connect_to(const char *path, int type) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, length + 1);
    int descriptor = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    /* A non-blocking connect cannot be interrupted. */
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return close_keeping_errno(descriptor);
    /* The same size as in libsystemd: how much an app can still print while journald does not read. */
    int size = 8 << 20;
    if (setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) < 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return descriptor;
}

int wd_journal_stream(const char *path, const void *header, size_t length) {
    int descriptor = connect_to(path, SOCK_STREAM);
    if (descriptor < 0) return -1;
    if (shutdown(descriptor, SHUT_RD) < 0) return close_keeping_errno(descriptor);
    /* The buffer of a new connection is empty: what does not fit now never will. */
    ssize_t sent = send(descriptor, header, length, MSG_NOSIGNAL);
    if (sent >= 0 && (size_t)sent < length) {
        sent = -1;
        errno = EAGAIN;
    }
    if (sent < 0 || fcntl(descriptor, F_SETFL, O_WRONLY) < 0) return close_keeping_errno(descriptor);
    return descriptor;
}

int wd_journal_datagram(const char *path) { return connect_to(path, SOCK_DGRAM); }

static int fill(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t count = write(file, bytes, length);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        bytes += count;
        length -= (size_t)count;
    }
    /* Exactly these: older versions of journald accept no others. */
    return fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

int wd_journal_send_file(int socket, const void *bytes, size_t length) {
    int file = memfd_create("watchdogd-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    int result = fill(file, bytes, length);
    if (result == 0) result = wd_socket_send_with(socket, NULL, 0, &file, 1);
    int error = errno;
    close(file);
    errno = error;
    return result;
}
