/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/route.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wd_link_relay.h"
#include "wd_network.h"

static const char device_name[] = "tap0";

static struct sockaddr address(const char *text) {
    struct sockaddr_in internet = {.sin_family = AF_INET};
    struct sockaddr general;
    inet_pton(AF_INET, text, &internet.sin_addr);
    memcpy(&general, &internet, sizeof general);
    return general;
}

static int open_device(void) {
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device < 0) return -1;
    strcpy(request.ifr_name, device_name);
    if (ioctl(device, TUNSETIFF, &request) == 0) return device;
    int error = errno;
    close(device);
    errno = error;
    return -1;
}

static int configure(void) {
    struct ifreq request = {0};
    struct rtentry route = {.rt_flags = RTF_UP | RTF_GATEWAY};
    int number = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (number < 0) return -1;
    strcpy(request.ifr_name, device_name);
    request.ifr_addr = address("10.0.2.100");
    int result = ioctl(number, SIOCSIFADDR, &request);
    request.ifr_netmask = address("255.255.255.0");
    if (result == 0) result = ioctl(number, SIOCSIFNETMASK, &request);
    if (result == 0) result = ioctl(number, SIOCGIFFLAGS, &request);
    request.ifr_flags |= IFF_UP;
    if (result == 0) result = ioctl(number, SIOCSIFFLAGS, &request);
    route.rt_dst = address("0.0.0.0");
    route.rt_genmask = address("0.0.0.0");
    route.rt_gateway = address("10.0.2.2");
    if (result == 0) result = ioctl(number, SIOCADDRT, &route);
    int error = errno;
    close(number);
    errno = error;
    return result;
}

static int send_descriptor(int to, int descriptor) {
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec vector = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    return sendmsg(to, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int wd_link_start(enum wd_link_step *step) {
    int ends[2];
    char answer = 0;
    *step = WD_LINK_PROCESS;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -1;
    pid_t child = fork();
    if (child == 0) wd_link_relay(ends[1]);
    int error = errno;
    close(ends[1]);
    int device = -1;
    if (child < 0) goto failed;

    *step = WD_LINK_LIBRARY;
    error = ENOENT;
    if (recv(ends[0], &answer, 1, 0) != 1 || answer != 1) goto failed;
    *step = WD_LINK_NAMESPACE;
    if (wd_enter_empty_network() < 0) goto failed_now;
    *step = WD_LINK_DEVICE;
    device = open_device();
    if (device < 0) goto failed_now;
    *step = WD_LINK_ADDRESS;
    if (configure() < 0 || send_descriptor(ends[0], device) < 0) goto failed_now;
    /* Now it gives up its rights, which not every container allows. */
    *step = WD_LINK_PROCESS;
    error = EPERM;
    if (recv(ends[0], &answer, 1, 0) != 1) goto failed;
    close(device);
    *step = WD_LINK_DONE;
    return ends[0];

failed_now:
    error = errno;
failed:
    if (device >= 0) close(device);
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    errno = error;
    return -1;
}

int wd_link_mount_names(void) {
    static const char text[] = "nameserver 10.0.2.3\n";
    char path[] = "/tmp/watchdogd-names-XXXXXX";
    int file = mkostemp(path, O_CLOEXEC);
    if (file < 0) return -1;
    int result = write(file, text, sizeof text - 1) == sizeof text - 1 && fchmod(file, 0444) == 0 ? 0 : -1;
    char source[32];
    snprintf(source, sizeof source, "/proc/self/fd/%d", file);
    if (result == 0) result = mount(source, "/etc/resolv.conf", NULL, MS_BIND, NULL);
    int error = errno;
    /* The mount keeps the file. */
    unlink(path);
    close(file);
    errno = error;
    return result;
}
