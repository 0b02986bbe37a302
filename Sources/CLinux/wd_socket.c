/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

const size_t wd_socket_longest_name = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

static void take_control(struct msghdr *header, struct wd_socket_message *message) {
    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control != NULL; control = CMSG_NXTHDR(header, control)) {
        if (control->cmsg_level != SOL_SOCKET) continue;
        size_t length = control->cmsg_len - CMSG_LEN(0);
        if (control->cmsg_type == SCM_CREDENTIALS && length == sizeof(struct ucred)) {
            struct ucred credentials;
            memcpy(&credentials, CMSG_DATA(control), sizeof credentials);
            message->pid = credentials.pid;
            message->user = credentials.uid;
            message->group = credentials.gid;
        } else if (control->cmsg_type == SCM_RIGHTS) {
            for (size_t offset = 0; offset + sizeof(int) <= length; offset += sizeof(int)) {
                int descriptor;
                memcpy(&descriptor, CMSG_DATA(control) + offset, sizeof descriptor);
                if (message->descriptor_count < WD_SOCKET_MAX_DESCRIPTORS)
                    message->descriptors[message->descriptor_count++] = descriptor;
                else
                    close(descriptor);
            }
        }
    }
}

/* Of a sequenced-packet socket, 0 bytes are an empty packet or the end. */
static bool is_hung_up(int socket) {
    struct pollfd entry = {.fd = socket, .events = POLLRDHUP};
    return poll(&entry, 1, 0) == 1 && (entry.revents & (POLLRDHUP | POLLHUP)) != 0;
}

int wd_socket_receive(int socket, bool stays, void *buffer, size_t capacity, struct wd_socket_message *message) {
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int) * WD_SOCKET_MAX_DESCRIPTORS)];
    } control;
    struct iovec vector = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memset(message, 0, sizeof *message);
    message->user = (uid_t)-1;
    message->group = (gid_t)-1;

    ssize_t length;
    do length = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | (stays ? MSG_PEEK : 0));
    while (length < 0 && errno == EINTR);
    if (length < 0) return -1;
    take_control(&header, message);
    message->length = (size_t)length;
    message->truncated = (header.msg_flags & MSG_TRUNC) != 0;
    message->end = length == 0 && message->pid == 0 && is_hung_up(socket);
    return 0;
}

void wd_socket_discard(int socket) {
    while (recv(socket, NULL, 0, MSG_DONTWAIT) < 0 && errno == EINTR) {
    }
}

int wd_socket_send(int socket, const void *bytes, size_t length) {
    ssize_t sent;
    do sent = send(socket, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

static int tell_sender(int socket) {
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

/* The size of the address; 0 if the name does not fit. */
static socklen_t address_of(const char *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length == 0 || length > wd_socket_longest_name) {
        errno = ENAMETOOLONG;
        return 0;
    }
    memcpy(address->sun_path, name, length);
    if (name[0] == '@') address->sun_path[0] = 0;
    /* An abstract name has exactly the bytes counted here; a path ends with NUL. */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '@' ? 0 : 1));
}

int wd_socket_send_with(int socket, const void *bytes, size_t length, const int *descriptors, size_t count) {
    if (count == 0) return wd_socket_send(socket, bytes, length);
    if (count > WD_SOCKET_MAX_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(int) * WD_SOCKET_MAX_DESCRIPTORS)];
    } control = {0};
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control,
        .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);

    ssize_t sent;
    do sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

int wd_socket_connect_datagram(const char *name) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    if (size == 0) return -1;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    if (connect(descriptor, (struct sockaddr *)&address, size) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int wd_socket_bind_datagram(const char *name, int receive_buffer) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    if (size == 0) return -1;

    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer, sizeof receive_buffer) < 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    if (tell_sender(descriptor) < 0 || bind(descriptor, (struct sockaddr *)&address, size) < 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

int wd_socket_pair(int ends[2]) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -1;
    if (tell_sender(ends[0]) == 0) return 0;
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return -1;
}
