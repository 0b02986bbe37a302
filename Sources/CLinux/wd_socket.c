/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int wd_channel(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return 0;
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return -1;
}

int wd_bind_datagram(const char *address, size_t length) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (length == 0 || length > sizeof name.sun_path - (address[0] != 0)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name.sun_path, address, length);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    int on = 1, buffer = 8 << 20;
    /* Without the privilege for SO_RCVBUFFORCE the ordinary maximum has to do. */
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0)
        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (address[0] != 0));
    if (setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        bind(descriptor, (struct sockaddr *)&name, size) == 0)
        return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

ssize_t wd_receive(int descriptor, void *buffer, size_t size, struct wd_received *received) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * WD_MAX_ATTACHMENTS)];
    } control;
    struct iovec vector = {buffer, size};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    received->is_truncated = received->has_sender = false;
    received->attachment_count = 0;
    ssize_t length;
    do length = recvmsg(descriptor, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    if (length < 0) return -1;
    received->is_truncated = (message.msg_flags & MSG_TRUNC) != 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS && part->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
            received->has_sender = true;
            received->sender_pid = sender.pid;
            received->sender_uid = sender.uid;
            received->sender_gid = sender.gid;
        } else if (part->cmsg_type == SCM_RIGHTS) {
            size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t index = 0; index < count; index++) {
                int attachment;
                memcpy(&attachment, CMSG_DATA(part) + index * sizeof attachment, sizeof attachment);
                if (received->attachment_count < WD_MAX_ATTACHMENTS)
                    received->attachments[received->attachment_count++] = attachment;
                else
                    close(attachment);
            }
        }
    }
    return length;
}

ssize_t wd_send(int descriptor, const void *bytes, size_t length) {
    ssize_t sent;
    do sent = send(descriptor, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}
