/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_link_relay.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wd_close_range.h"
#include "wd_link.h"

/* MARK: libslirp */

/* What libslirp 4 exports, in version 1 of its configuration, which every later one accepts: its libslirp.h. */
typedef void (*slirp_timer)(void *opaque);

struct slirp_callbacks {
    ssize_t (*send_packet)(const void *bytes, size_t count, void *opaque);
    void (*guest_error)(const char *text, void *opaque);
    int64_t (*clock_get_ns)(void *opaque);
    void *(*timer_new)(slirp_timer callback, void *callback_opaque, void *opaque);
    void (*timer_free)(void *timer, void *opaque);
    void (*timer_mod)(void *timer, int64_t milliseconds, void *opaque);
    void (*register_poll_fd)(int number, void *opaque);
    void (*unregister_poll_fd)(int number, void *opaque);
    void (*notify)(void *opaque);
    void *unused[2];
};

struct slirp_configuration {
    uint32_t version;
    int restricted;
    bool in_enabled;
    struct in_addr vnetwork, vnetmask, vhost;
    bool in6_enabled;
    struct in6_addr vprefix_addr6;
    uint8_t vprefix_len;
    struct in6_addr vhost6;
    const char *vhostname, *tftp_server_name, *tftp_path, *bootfile;
    struct in_addr vdhcp_start, vnameserver;
    struct in6_addr vnameserver6;
    const char **vdnssearch;
    const char *vdomainname;
    size_t if_mtu, if_mru;
    bool disable_host_loopback, enable_emu;
    /* Of later versions, and unused. */
    void *unused[8];
};

enum { SLIRP_IN = 1, SLIRP_OUT = 2, SLIRP_PRIORITY = 4, SLIRP_ERROR = 8, SLIRP_END = 16 };

static void *(*slirp_new)(const struct slirp_configuration *, const struct slirp_callbacks *, void *);
static void (*slirp_input)(void *, const uint8_t *, int);
static void (*slirp_pollfds_fill)(void *, uint32_t *, int (*)(int, int, void *), void *);
static void (*slirp_pollfds_poll)(void *, int, int (*)(int, void *), void *);

static bool load(void) {
    /* It uses GLib, which reads files and variables of its own, but starts no thread for this. */
    void *library = dlopen("libslirp.so.0", RTLD_NOW);
    if (!library) return false;
    *(void **)&slirp_new = dlsym(library, "slirp_new");
    *(void **)&slirp_input = dlsym(library, "slirp_input");
    *(void **)&slirp_pollfds_fill = dlsym(library, "slirp_pollfds_fill");
    *(void **)&slirp_pollfds_poll = dlsym(library, "slirp_pollfds_poll");
    return slirp_new && slirp_input && slirp_pollfds_fill && slirp_pollfds_poll;
}

/* MARK: The link */

enum { FRAME_MAX = 2048, LANE_MAX = 4096, WAITS_MAX = 1024, TIMERS_MAX = 16 };

static const uint64_t second = 1000000000;
/* What a bottleneck holds; the rest of a burst is lost, as at a router. */
static const uint64_t longest_queue = 2000000000;

struct packet {
    struct packet *next;
    uint64_t due;
    size_t count;
    uint8_t bytes[];
};

struct lane {
    struct packet *first; /* by due time */
    size_t count;
    uint64_t free_at;
    void (*deliver)(const uint8_t *bytes, size_t count);
};

struct timer {
    slirp_timer callback;
    void *opaque;
    int64_t due; /* milliseconds; -1 for none */
};

static struct wd_link_conditions conditions;
static struct lane up, down;
static struct timer timers[TIMERS_MAX];
static struct pollfd waits[WAITS_MAX];
static nfds_t wait_count;
static int device = -1;
static void *slirp;
static uint64_t randomness = 0x9E3779B97F4A7C15;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * second + (uint64_t)time.tv_nsec;
}

/* xorshift64: the same packets are lost in every run. */
static bool is_lost(uint32_t per_million) {
    randomness ^= randomness << 13;
    randomness ^= randomness >> 7;
    randomness ^= randomness << 17;
    return randomness % 1000000 < per_million;
}

/* ARP only finds the gateway, which is as near as the device. */
static bool is_internet(const uint8_t *frame, size_t count) {
    return count >= 34 && frame[12] == 0x08 && frame[13] == 0x00;
}

static bool asks_name_server(const uint8_t *frame, size_t count) {
    size_t header = 14 + (size_t)(frame[14] & 15) * 4;
    bool has_ports = frame[23] == IPPROTO_UDP || frame[23] == IPPROTO_TCP;
    return has_ports && count >= header + 4 && frame[header + 2] == 0 && frame[header + 3] == 53;
}

static void enqueue(struct lane *lane, const struct wd_link_lane *limits, const uint8_t *bytes, size_t count) {
    uint64_t start = now(), due = start;
    if (count == 0 || count > FRAME_MAX) return;
    if (is_internet(bytes, count)) {
        if (conditions.is_cut || is_lost(limits->loss) || lane->count >= LANE_MAX) return;
        if (limits->bytes_per_second > 0) {
            if (lane->free_at < start) lane->free_at = start;
            if (lane->free_at - start > longest_queue) return;
            lane->free_at += count * second / limits->bytes_per_second;
            due = lane->free_at;
        }
        due += limits->delay;
        if (lane == &up && asks_name_server(bytes, count)) due += conditions.name_delay;
    }
    if (due == start) {
        lane->deliver(bytes, count);
        return;
    }
    struct packet *packet = malloc(sizeof *packet + count);
    if (!packet) return;
    packet->due = due;
    packet->count = count;
    memcpy(packet->bytes, bytes, count);
    struct packet **place = &lane->first;
    while (*place && (*place)->due <= due) place = &(*place)->next;
    packet->next = *place;
    *place = packet;
    lane->count++;
}

static void deliver_due(struct lane *lane) {
    while (lane->first && lane->first->due <= now()) {
        struct packet *packet = lane->first;
        lane->first = packet->next;
        lane->count--;
        if (!conditions.is_cut) lane->deliver(packet->bytes, packet->count);
        free(packet);
    }
}

static void to_network(const uint8_t *bytes, size_t count) { slirp_input(slirp, bytes, (int)count); }

static void to_device(const uint8_t *bytes, size_t count) {
    /* A device without room loses packets, as any link does. */
    if (write(device, bytes, count) < 0) return;
}

/* MARK: What libslirp asks for */

static ssize_t send_packet(const void *bytes, size_t count, void *opaque) {
    (void)opaque;
    enqueue(&down, &conditions.down, bytes, count);
    return (ssize_t)count;
}

static void ignore_error(const char *text, void *opaque) {
    (void)text;
    (void)opaque;
}

static int64_t clock_of_slirp(void *opaque) {
    (void)opaque;
    return (int64_t)now();
}

static void *new_timer(slirp_timer callback, void *callback_opaque, void *opaque) {
    (void)opaque;
    for (int i = 0; i < TIMERS_MAX; i++) {
        if (timers[i].callback) continue;
        timers[i] = (struct timer){callback, callback_opaque, -1};
        return &timers[i];
    }
    return NULL;
}

static void free_timer(void *timer, void *opaque) {
    (void)opaque;
    if (timer) ((struct timer *)timer)->callback = NULL;
}

static void set_timer(void *timer, int64_t milliseconds, void *opaque) {
    (void)opaque;
    if (timer) ((struct timer *)timer)->due = milliseconds;
}

static void ignore_number(int number, void *opaque) {
    (void)number;
    (void)opaque;
}

static void ignore(void *opaque) { (void)opaque; }

static int add_wait(int number, int events, void *opaque) {
    (void)opaque;
    if (wait_count == WAITS_MAX) return -1;
    int flags = (events & SLIRP_IN ? POLLIN : 0) | (events & SLIRP_OUT ? POLLOUT : 0) |
                (events & SLIRP_PRIORITY ? POLLPRI : 0);
    waits[wait_count] = (struct pollfd){.fd = number, .events = (short)flags};
    return (int)wait_count++;
}

static int result_of(int index, void *opaque) {
    (void)opaque;
    if (index < 0) return 0;
    int flags = waits[index].revents;
    return (flags & POLLIN ? SLIRP_IN : 0) | (flags & POLLOUT ? SLIRP_OUT : 0) | (flags & POLLPRI ? SLIRP_PRIORITY : 0) |
           (flags & POLLERR ? SLIRP_ERROR : 0) | (flags & POLLHUP ? SLIRP_END : 0);
}

static const struct slirp_callbacks callbacks = {
    .send_packet = send_packet,
    .guest_error = ignore_error,
    .clock_get_ns = clock_of_slirp,
    .timer_new = new_timer,
    .timer_free = free_timer,
    .timer_mod = set_timer,
    .register_poll_fd = ignore_number,
    .unregister_poll_fd = ignore_number,
    .notify = ignore,
};

/* MARK: The process */

static int receive_device(int control) {
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(int))];
    } rights;
    char byte;
    struct iovec vector = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_type != SCM_RIGHTS) return -1;
    int number;
    memcpy(&number, CMSG_DATA(header), sizeof number);
    return number;
}

/* Packets come from a hostile program: what reads them may do as little as possible. */
static void drop_privileges(void) {
    enum { NOBODY = 65534 };
    if (geteuid() == 0 &&
        (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
        _exit(71);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0);
    /* Changing IDs has cleared it: prctl(2). */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static struct timespec next_wait(uint32_t slirp_milliseconds) {
    uint64_t start = now(), until = UINT64_MAX;
    if (slirp_milliseconds != UINT32_MAX) until = start + slirp_milliseconds * (second / 1000);
    for (int i = 0; i < TIMERS_MAX; i++) {
        if (!timers[i].callback || timers[i].due < 0) continue;
        uint64_t due = (uint64_t)timers[i].due * (second / 1000);
        if (due < until) until = due;
    }
    if (up.first && up.first->due < until) until = up.first->due;
    if (down.first && down.first->due < until) until = down.first->due;
    uint64_t left = until <= start ? 0 : until == UINT64_MAX ? 3600 * second : until - start;
    return (struct timespec){.tv_sec = (time_t)(left / second), .tv_nsec = (long)(left % second)};
}

static void run_timers(void) {
    int64_t milliseconds = (int64_t)(now() / (second / 1000));
    for (int i = 0; i < TIMERS_MAX; i++) {
        if (!timers[i].callback || timers[i].due < 0 || timers[i].due > milliseconds) continue;
        timers[i].due = -1;
        timers[i].callback(timers[i].opaque);
    }
}

static void turn(int control) {
    uint8_t frame[FRAME_MAX];
    uint32_t limit = UINT32_MAX;
    waits[0] = (struct pollfd){.fd = control, .events = POLLIN};
    waits[1] = (struct pollfd){.fd = device, .events = POLLIN};
    wait_count = 2;
    slirp_pollfds_fill(slirp, &limit, add_wait, NULL);
    struct timespec time = next_wait(limit);
    int count = ppoll(waits, wait_count, &time, NULL);
    if (count < 0) memset(waits, 0, sizeof waits);
    if (waits[0].revents != 0) {
        struct wd_link_conditions new;
        ssize_t length = recv(control, &new, sizeof new, MSG_DONTWAIT);
        if (length == 0) _exit(0);
        if (length == sizeof new) conditions = new;
    }
    /* A bounded number, so that a flood leaves time for the others. */
    for (int turns = 0; turns < 64 && waits[1].revents != 0; turns++) {
        ssize_t length = read(device, frame, sizeof frame);
        if (length <= 0) break;
        enqueue(&up, &conditions.up, frame, (size_t)length);
    }
    deliver_due(&up);
    slirp_pollfds_poll(slirp, count < 0, result_of, NULL);
    run_timers();
    deliver_due(&down);
}

void wd_link_relay(int control) {
    enum { CONTROL = 3 };
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "watchdogd-fault");
    /* libslirp sends without MSG_NOSIGNAL. */
    signal(SIGPIPE, SIG_IGN);
    setsid();
    if (control != CONTROL) {
        dup2(control, CONTROL);
        control = CONTROL;
    }
    wd_close_range(CONTROL + 1, ~0U);
    char answer = load() ? 1 : 0;
    if (send(control, &answer, 1, MSG_NOSIGNAL) != 1 || !answer) _exit(0);
    device = receive_device(control);
    if (device < 0) _exit(0);
    drop_privileges();
    struct slirp_configuration configuration = {
        .version = 1, .in_enabled = true, .vhostname = "link", .if_mtu = 1500, .if_mru = 1500};
    inet_pton(AF_INET, "10.0.2.0", &configuration.vnetwork);
    inet_pton(AF_INET, "255.255.255.0", &configuration.vnetmask);
    inet_pton(AF_INET, "10.0.2.2", &configuration.vhost);
    inet_pton(AF_INET, "10.0.2.15", &configuration.vdhcp_start);
    inet_pton(AF_INET, "10.0.2.3", &configuration.vnameserver);
    up.deliver = to_network;
    down.deliver = to_device;
    slirp = slirp_new(&configuration, &callbacks, NULL);
    if (!slirp || send(control, &answer, 1, MSG_NOSIGNAL) != 1) _exit(71);
    for (;;) turn(control);
}
