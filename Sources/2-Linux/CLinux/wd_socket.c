/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

const size_t wd_socket_longest_name = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

/* The kernel timestamps messages with the wall clock. If the clock has been set since, the age is wrong or negative. */
static int64_t age_since(const struct timespec *stamp) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t seconds = now.tv_sec - stamp->tv_sec;
    if (seconds < 0 || seconds > 1000000) return 0;
    int64_t age = seconds * 1000000000 + now.tv_nsec - stamp->tv_nsec;
    return age < 0 ? 0 : age;
}

/* Of Linux 6.5, which older headers lack. */
enum { PASS_PIDFD = 76, PIDFD_MESSAGE = 0x04 };

enum {
    AGE_ROOM = CMSG_SPACE(sizeof(struct timespec)),
    SENDER_ROOM = CMSG_SPACE(sizeof(struct ucred)),
    PIDFD_ROOM = CMSG_SPACE(sizeof(int)),
};

static void take_sender(struct cmsghdr *control, size_t length, struct wd_socket_message *message) {
    if (control->cmsg_type == SCM_CREDENTIALS && length == sizeof(struct ucred)) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(control), sizeof credentials);
        message->pid = credentials.pid;
        message->user = credentials.uid;
        message->group = credentials.gid;
    } else if (control->cmsg_type == SCM_TIMESTAMPNS && length == sizeof(struct timespec)) {
        struct timespec stamp;
        memcpy(&stamp, CMSG_DATA(control), sizeof stamp);
        message->age = age_since(&stamp);
    } else if (control->cmsg_type == PIDFD_MESSAGE && length == sizeof(int)) {
        memcpy(&message->sender, CMSG_DATA(control), length);
        /* Before Linux 6.17, a reaped process has no pidfd; other errors say nothing of it, such as EMFILE. */
        message->is_reaped = message->sender == -ESRCH || message->sender == -EINVAL;
        if (message->sender < 0) message->sender = -1;
    }
}

static void take_control(struct msghdr *header, struct wd_socket_message *message, int *descriptors) {
    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control != NULL; control = CMSG_NXTHDR(header, control)) {
        if (control->cmsg_level != SOL_SOCKET) continue;
        size_t length = control->cmsg_len - CMSG_LEN(0);
        if (control->cmsg_type == SCM_RIGHTS && descriptors != NULL) {
            memcpy(descriptors, CMSG_DATA(control), length);
            message->descriptor_count = length / sizeof(int);
        } else {
            take_sender(control, length, message);
        }
    }
}

/* On a sequenced-packet socket, 0 bytes mean an empty packet or the end. */
static bool is_hung_up(int socket) {
    struct pollfd entry = {.fd = socket, .events = POLLRDHUP};
    return poll(&entry, 1, 0) == 1 && (entry.revents & (POLLRDHUP | POLLHUP)) != 0;
}

static int receive(int socket, struct msghdr *header, int flags, struct wd_socket_message *message) {
    ssize_t length;
    do length = recvmsg(socket, header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | flags);
    while (length < 0 && errno == EINTR);
    if (length < 0) return -1;
    message->length = (size_t)length;
    message->truncated = (header->msg_flags & MSG_TRUNC) != 0;
    return 0;
}

static void clear(struct wd_socket_message *message) {
    *message = (struct wd_socket_message){.user = (uid_t)-1, .group = (gid_t)-1, .sender = -1};
}

int wd_socket_receive(int socket, void *buffer, size_t capacity, struct wd_socket_message *message, int *descriptors) {
    union {
        struct cmsghdr alignment;
        char bytes[AGE_ROOM + SENDER_ROOM + PIDFD_ROOM + CMSG_SPACE(sizeof(int) * WD_SOCKET_MOST_DESCRIPTORS)];
    } control;
    struct iovec vector = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    clear(message);
    if (receive(socket, &header, 0, message) < 0) return -1;
    take_control(&header, message, descriptors);
    message->end = message->length == 0 && message->pid == 0 && is_hung_up(socket);
    return 0;
}

static void tell_pidfds(int socket, int on) { setsockopt(socket, SOL_SOCKET, PASS_PIDFD, &on, sizeof on); }

void wd_socket_identify(int socket, struct wd_socket_message *message) {
    union {
        struct cmsghdr alignment;
        char bytes[AGE_ROOM + SENDER_ROOM + PIDFD_ROOM];
    } control;
    struct wd_socket_message again = {.sender = -1};
    struct msghdr header = {.msg_control = &control, .msg_controllen = sizeof control};
    tell_pidfds(socket, 1);
    int result = receive(socket, &header, MSG_PEEK, &again);
    tell_pidfds(socket, 0);
    if (result < 0) return;
    take_control(&header, &again, NULL);
    message->sender = again.sender;
    message->is_reaped = again.is_reaped;
}

int wd_socket_peek(int socket, enum wd_socket_origin origin, void *buffer, size_t capacity,
                   struct wd_socket_message *message) {
    static const size_t rooms[] = {0, SENDER_ROOM, AGE_ROOM + SENDER_ROOM};
    union {
        struct cmsghdr alignment;
        char bytes[AGE_ROOM + SENDER_ROOM];
    } control;
    struct iovec vector = {.iov_base = buffer, .iov_len = capacity};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    clear(message);
    header.msg_controllen = rooms[origin];
    header.msg_control = header.msg_controllen > 0 ? &control : NULL;
    if (receive(socket, &header, MSG_PEEK, message) < 0) return -1;
    take_control(&header, message, NULL);
    message->has_descriptors = (header.msg_flags & MSG_CTRUNC) != 0;
    message->end = message->length == 0 && message->pid == 0 && is_hung_up(socket);
    return 0;
}

int wd_socket_peek_from(int socket, int offset) {
    return setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof offset);
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

int wd_socket_refuse_descriptors(int socket) {
    enum { PASS_RIGHTS = 83 }; /* SO_PASSRIGHTS of Linux 6.16, which older headers lack */
    int off = 0;
    return setsockopt(socket, SOL_SOCKET, PASS_RIGHTS, &off, sizeof off);
}

static int tell_sender(int socket) {
    int on = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

int wd_socket_tell_origin(int socket) {
    int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    return tell_sender(socket);
}

void wd_socket_tell_no_pidfds(int socket) { tell_pidfds(socket, 0); }

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
    /* An abstract name consists of exactly the bytes counted here; a path ends with NUL. */
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
    if (wd_socket_tell_origin(descriptor) < 0 || bind(descriptor, (struct sockaddr *)&address, size) < 0) {
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
