/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_closer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wd_close_range.h"
#include "wd_examiner.h"
#include "wd_left_closers.h"
#include "wd_seccomp.h"
#include "wd_socket.h"
#include "wd_source.h"

enum { KEPT = WD_SOURCE_LINK, DAEMON = 4, TAKEN_FROM = 5 };

/* How long a keeper waits after the end of its connection for the end of a process that may only have executed another
 * program, in milliseconds: its successor has copies of everything long before. */
enum { LINGERING = 10000 };

struct kept {
    uint64_t id;
    uint64_t cookie; /* the kernel's number of the socket; 0 if unknown */
    uint32_t owner;
    bool is_left_over; /* kept for a program that this process no longer executes */
    bool is_released;  /* until there is a process that closes it */
    int socket;
};

static struct kept *kept;
static size_t kept_count, kept_room;
static struct {
    pid_t pid;
    uint32_t owner;
} closers[WD_CLOSER_MOST];
static size_t closer_count;
/* What earlier keepers have left. They are no children of this one. */
static struct wd_left_closer left[WD_CLOSER_MOST];
static size_t left_count;

/* -- The rights of all these processes -- */

/* As root it stays user 0: as any other user, processes of that user could kill it. */
static void drop_rights(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    syscall(SYS_capset, &header, none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The calls of this file, and those that the C library makes for them; sigaltstack(2) is the address sanitizer's, before a
 * function that does not return. All others fail: without close_range(2), wd_close_range() closes one number after another. */
#define ALLOW_CLOSING                                                                                                  \
    ALLOW(recvmsg), ALLOW(recvfrom), ALLOW(sendto), ALLOW(sendmsg), ALLOW(close), ALLOW(close_range),                  \
        ALLOW(getsockopt), ALLOW(dup3), ALLOW(pipe2), ALLOW(read), ALLOW(shutdown), ALLOW(clone), ALLOW(wait4),        \
        ALLOW(ppoll), ALLOW(setitimer), ALLOW(prctl), ALLOW(getpid), ALLOW(getppid), ALLOW(gettid),                    \
        ALLOW(set_robust_list), ALLOW(set_tid_address), ALLOW(rseq), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask),       \
        ALLOW(rt_sigreturn), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(brk),   \
        ALLOW(futex), ALLOW(exit), ALLOW(exit_group), ALLOW(restart_syscall), ALLOW(sigaltstack)
#ifdef SYS_poll
#define ALLOW_OLD_CLOSING ALLOW(poll), ALLOW(dup2), ALLOW(fork),
#else
#define ALLOW_OLD_CLOSING
#endif

static void permit(struct sock_filter *program, size_t count) {
    struct sock_fprog filter = {(unsigned short)count, program};
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
}

static void permit_closing(void) {
    struct sock_filter program[] = {CHECK_ARCHITECTURE, ALLOW_CLOSING, ALLOW_OLD_CLOSING REFUSE};
    permit(program, sizeof program / sizeof *program);
}

/* Also the calls of wd_left_closers.c, and that of permit_closing(). */
static void permit_closing_and_looking(void) {
    struct sock_filter program[] = {
        CHECK_ARCHITECTURE, ALLOW_CLOSING, ALLOW_OLD_CLOSING
        ALLOW(seccomp), ALLOW(getdents64), ALLOW(fstat), ALLOW(newfstatat), ALLOW(pidfd_open),
        ALLOW_WITHOUT(openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC),
        REFUSE,
    };
    permit(program, sizeof program / sizeof *program);
}

/* -- The processes that close -- */

/* Removes a message with everything in it. SCM_MAX_FD descriptors fit, so the kernel closes none before the answer. */
static _Noreturn void take(int socket, uint64_t id) {
    static union {
        struct cmsghdr alignment;
        char bytes[4096];
    } control;
    if (socket != TAKEN_FROM) dup2(socket, TAKEN_FROM);
    wd_close_range(TAKEN_FROM + 1, ~0U);
    char byte;
    struct iovec vector = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    while (recvmsg(TAKEN_FROM, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0 && errno == EINTR) {
    }
    close(TAKEN_FROM);
    struct wd_closer_message answer = {.kind = WD_CLOSER_TAKEN, .id = id};
    while (send(KEPT, &answer, sizeof answer, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
    wd_die_after(WD_CLOSER_PATIENCE);
    _exit(0);
}

/* Closes everything but two descriptors and the standard streams. */
static void close_all_but(unsigned one, unsigned other) {
    unsigned low = one < other ? one : other, high = one < other ? other : one;
    if (low > KEPT) wd_close_range(KEPT, low - 1);
    if (high > low + 1) wd_close_range(low + 1, high - 1);
    wd_close_range(high + 1, ~0U);
}

/* Holds the last copy once the keeper has closed its own, which ends `gate`. Its end closes the socket and what is in it. */
static _Noreturn void release(int socket, int gate) {
    char byte;
    close_all_but((unsigned)socket, (unsigned)gate);
    wd_die_after(WD_CLOSER_PATIENCE);
    while (read(gate, &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(0);
}

/* -- The keeper -- */

static void reap(void) {
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (size_t index = 0; index < closer_count; index++) {
            if (closers[index].pid != ended) continue;
            closers[index] = closers[--closer_count];
            break;
        }
    }
    for (size_t index = 0; index < left_count; index++) {
        struct pollfd entry = {.fd = left[index].process, .events = POLLIN};
        if (poll(&entry, 1, 0) == 0) continue;
        close(left[index].process);
        left[index--] = left[--left_count];
    }
}

static bool has_room(uint32_t owner) {
    size_t own = 0;
    for (size_t index = 0; index < closer_count; index++) own += closers[index].owner == owner;
    for (size_t index = 0; index < left_count; index++) own += left[index].owner == owner;
    return closer_count + left_count < WD_CLOSER_MOST && own < WD_CLOSER_MOST_OF_OWNER;
}

static void forget(size_t index) { kept[index] = kept[--kept_count]; }

/* Whether nothing is in a socket into which nothing more can be sent: its last close never blocks. */
static bool is_drained(int socket) {
    char byte;
    shutdown(socket, SHUT_RD);
    ssize_t length = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return length < 0 && errno == EAGAIN;
}

static void take_name(uint32_t owner) {
    char name[16];
    snprintf(name, sizeof name, WD_LEFT_NAME "%u", owner);
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* The number of the new process; 0 in it, and -1 if there is none. */
static pid_t begin(const struct kept *entry) {
    if (!has_room(entry->owner)) return -1;
    pid_t keeper = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        wd_die_with(keeper);
        take_name(entry->owner);
    }
    if (pid > 0) {
        closers[closer_count].pid = pid;
        closers[closer_count++].owner = entry->owner;
    }
    return pid;
}

static void take_from(const struct kept *entry) {
    pid_t pid = begin(entry);
    if (pid == 0) take(entry->socket, entry->id);
    if (pid > 0) return;
    struct wd_closer_message answer = {.kind = WD_CLOSER_DECLINED, .id = entry->id};
    while (send(KEPT, &answer, sizeof answer, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

/* False if there is no process for it now. */
static bool release_copy(const struct kept *entry) {
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) < 0) return false;
    pid_t pid = begin(entry);
    if (pid == 0) release(entry->socket, gate[0]);
    /* Never the last copy: the process has one, until it finds the gate closed. */
    if (pid > 0) close(entry->socket);
    close(gate[0]);
    close(gate[1]);
    return pid > 0;
}

/* Gives up what waits for that. True if something still does. */
static bool release_waiting(void) {
    bool waits = false;
    for (size_t index = 0; index < kept_count; index++) {
        struct kept *entry = &kept[index];
        if (!entry->is_released) continue;
        /* What is left over may be in use elsewhere. */
        if (!entry->is_left_over && is_drained(entry->socket)) {
            close(entry->socket);
        } else if (!release_copy(entry)) {
            waits = true;
            continue;
        }
        forget(index--);
    }
    return waits;
}

static uint64_t cookie_of(int socket) {
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

/* Closes the left-over copy of a socket that is kept anew. */
static void replace_left_over(uint64_t cookie) {
    for (size_t index = 0; index < kept_count; index++) {
        struct kept *entry = &kept[index];
        if (!entry->is_left_over || entry->cookie != cookie || cookie == 0) continue;
        close(entry->socket);
        forget(index--);
    }
}

static void keep(const struct wd_closer_message *message, int socket) {
    if (kept_count == kept_room) {
        size_t room = kept_room ? 2 * kept_room : 64;
        struct kept *grown = realloc(kept, room * sizeof *kept);
        /* The daemon starts another keeper. */
        if (grown == NULL) _exit(71);
        kept = grown;
        kept_room = room;
    }
    uint64_t cookie = cookie_of(socket);
    replace_left_over(cookie);
    kept[kept_count++] =
        (struct kept){.id = message->id, .cookie = cookie, .owner = message->owner, .socket = socket};
}

static struct kept *find(uint64_t id) {
    for (size_t index = 0; index < kept_count; index++)
        if (kept[index].id == id) return &kept[index];
    return NULL;
}

static void heed(const struct wd_closer_message *message, int socket) {
    struct kept *entry = find(message->id);
    switch (message->kind) {
    case WD_CLOSER_KEEP:
        if (socket >= 0) keep(message, socket);
        break;
    case WD_CLOSER_TAKE:
        reap();
        if (entry != NULL) take_from(entry);
        break;
    case WD_CLOSER_RELEASE:
        if (entry != NULL) entry->is_released = true;
        break;
    case WD_CLOSER_SUCCEED:
        for (size_t index = 0; index < kept_count; index++) kept[index].is_left_over = true;
        break;
    case WD_CLOSER_FORGET:
        for (size_t index = 0; index < kept_count; index++)
            if (kept[index].is_left_over) kept[index].is_released = true;
        break;
    case WD_CLOSER_END: wd_end_after_children(WD_SOURCE_PATIENCE);
    }
}

/* Handles one message of the daemon: 1, 0 if there is none, or -1 at the end. */
static int receive(void) {
    struct wd_closer_message message;
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec vector = {.iov_base = &message, .iov_len = sizeof message};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(KEPT, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (length != sizeof message) return -1;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    int socket = -1;
    if (rights != NULL && rights->cmsg_type == SCM_RIGHTS) memcpy(&socket, CMSG_DATA(rights), sizeof socket);
    heed(&message, socket);
    return 1;
}

static void child_ended(int signal) { (void)signal; }

/* Signals are blocked except while it waits, so that none is missed. */
static void notice_children(sigset_t *while_waiting) {
    struct sigaction action = {.sa_handler = child_ended, .sa_flags = SA_NOCLDSTOP};
    sigset_t child;
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    sigemptyset(while_waiting);
}

static _Noreturn void serve_keeper(void) {
    sigset_t while_waiting;
    notice_children(&while_waiting);
    for (;;) {
        int received;
        while ((received = receive()) > 0) {
        }
        if (received < 0) break;
        reap();
        /* If no process could be created, nothing else wakes this one. */
        struct timespec soon = {.tv_nsec = 100000000};
        bool waits = release_waiting();
        struct pollfd entry = {.fd = KEPT, .events = POLLIN};
        ppoll(&entry, 1, waits ? &soon : NULL, &while_waiting);
    }
    /* What came last before the end may have released some. */
    release_waiting();
    struct pollfd daemon = {.fd = DAEMON, .events = POLLIN};
    if (kept_count > 0) poll(&daemon, 1, LINGERING);
    wd_end_after_children(WD_SOURCE_PATIENCE);
}

/* -- The source -- */

static int receive_keeper_end(void) {
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec vector = {.iov_base = &byte, .iov_len = 1};
    struct msghdr header = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length;
    do length = recvmsg(KEPT, &header, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    if (length != 1) wd_end_after_children(LINGERING + 2 * WD_CLOSER_PATIENCE);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
    int end = -1;
    if (rights != NULL && rights->cmsg_type == SCM_RIGHTS) memcpy(&end, CMSG_DATA(rights), sizeof end);
    return end;
}

static _Noreturn void serve_source(void) {
    for (;;) {
        int end = receive_keeper_end();
        if (end < 0) continue;
        left_count = wd_find_left_closers(left, WD_CLOSER_MOST);
        if (fork() == 0) {
            dup2(end, KEPT);
            close(end);
            permit_closing();
            serve_keeper();
        }
        close(end);
        while (left_count > 0) close(left[--left_count].process);
    }
}

static void become_orphan_visibly(void) {
    sigset_t orphaned;
    sigemptyset(&orphaned);
    sigaddset(&orphaned, WD_LEFT_ORPHANED);
    sigprocmask(SIG_BLOCK, &orphaned, NULL);
    prctl(PR_SET_PDEATHSIG, WD_LEFT_ORPHANED);
}

pid_t wd_fork_closer_source(int link) {
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0) return child;
    wd_become_source(link);
    become_orphan_visibly();
    /* The lowest free number, DAEMON. */
    if (syscall(SYS_pidfd_open, parent, 0) != DAEMON || getppid() != parent) _exit(70);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    prctl(PR_SET_NAME, "wd-closer", 0, 0, 0);
    drop_rights();
    permit_closing_and_looking();
    serve_source();
}

int wd_closer_answer(int keeper, struct wd_closer_message *answer) {
    ssize_t length;
    do length = recv(keeper, answer, sizeof *answer, MSG_DONTWAIT);
    while (length < 0 && errno == EINTR);
    if (length == sizeof *answer) return 1;
    return length < 0 && errno == EAGAIN ? 0 : -1;
}
