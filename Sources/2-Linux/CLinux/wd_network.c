/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_namespace.h"
#include "wd_network.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t written = write(file, text, strlen(text));
    int error = errno;
    close(file);
    errno = error;
    return written < 0 ? -1 : 0;
}

/* user_namespaces(7): without privileges, one ID can be mapped, and only after setgroups(2) was given up. */
int wd_enter_user_namespace(int flags) {
    unsigned user = geteuid(), group = getegid();
    char text[64];
    if (unshare(CLONE_NEWUSER | flags) < 0) return -1;
    if (write_file("/proc/self/setgroups", "deny") < 0) return -1;
    snprintf(text, sizeof text, "%u %u 1", user, user);
    if (write_file("/proc/self/uid_map", text) < 0) return -1;
    snprintf(text, sizeof text, "%u %u 1", group, group);
    return write_file("/proc/self/gid_map", text);
}

static int raise_loopback(void) {
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo");
    int socket_number = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_number < 0) return -1;
    int result = ioctl(socket_number, SIOCGIFFLAGS, &request);
    request.ifr_flags |= IFF_UP;
    if (result == 0) result = ioctl(socket_number, SIOCSIFFLAGS, &request);
    int error = errno;
    close(socket_number);
    errno = error;
    return result;
}

int wd_enter_empty_network(void) {
    if (unshare(CLONE_NEWNET) < 0 && (errno != EPERM || wd_enter_user_namespace(CLONE_NEWNET) < 0)) return -1;
    return raise_loopback();
}
