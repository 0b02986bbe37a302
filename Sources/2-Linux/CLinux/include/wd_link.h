/* SPDX-License-Identifier: Apache-2.0
 *
 * A network namespace whose only way out is a link in user space, which can be bad: network_namespaces(7), tuntap.
 *
 * A process that stays in the old network translates the packets of the new one to sockets of its own, with libslirp,
 * which is loaded when it is needed. IPv4 only: the namespace is 10.0.2.100, its gateway 10.0.2.2 stands for the
 * loopback of the old network, and 10.0.2.3 for its name server.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct wd_link_lane {
    uint64_t bytes_per_second; /* 0: as much as the machine can do */
    uint64_t delay;            /* nanoseconds */
    uint32_t loss;             /* lost packets per million */
};

struct wd_link_conditions {
    struct wd_link_lane up;
    struct wd_link_lane down;
    uint64_t name_delay; /* of packets to a name server, in nanoseconds */
    bool is_cut;         /* nothing passes */
};

/* The steps of wd_link_start(), which reports the one that failed. */
enum wd_link_step {
    WD_LINK_DONE = 0,
    WD_LINK_PROCESS,   /* start a process */
    WD_LINK_LIBRARY,   /* load libslirp.so.0 */
    WD_LINK_NAMESPACE, /* create a network namespace */
    WD_LINK_DEVICE,    /* create a network device */
    WD_LINK_ADDRESS,   /* give it an address and a route */
};

/* Moves the calling process, and what it starts from now on, to such a network; without CAP_SYS_ADMIN in a user
 * namespace of its own, in which its IDs stay the same. It must have only one thread. The kernel kills the process of
 * the link when the calling thread ends.
 *
 * Returns a socket that takes a struct wd_link_conditions per datagram, or -1 with errno and the step that failed. */
int wd_link_start(enum wd_link_step *step);

/* Mounts a file that names the link's name server over /etc/resolv.conf, in the mount namespace of the caller, which
 * must be a private one. 0, or -1 with errno. */
int wd_link_mount_names(void);
