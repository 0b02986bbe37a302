/* SPDX-License-Identifier: Apache-2.0
 *
 * A crowded host: crowded COMMAND ARGUMENT…
 *
 * Creates 100,000 TCP sockets, 10,000 Unix sockets, 5,000 processes, 50,000 maps of one process and 10,000 file locks,
 * lists them on standard error, runs the command, and removes everything again. If a limit is too low, root gets no
 * crowd (exit code 69), and an ordinary user a smaller one. Otherwise exits like the command, or with 128 plus its signal.
 *
 * Everything belongs to children, which the kernel kills with this process, however that ends. No TCP socket stays in
 * TIME_WAIT, no file is created, and the TCP sockets have otherwise unused addresses and ports: 127.0.1.1 and higher,
 * 20000 and higher, below those that the kernel assigns to connections by default.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TCP, UNIX, PROCESSES, MAPS, LOCKS, KINDS };
enum {
    CONNECTIONS = 50000,
    UNIX_SHARE = 10,         /* one Unix pair for this many TCP connections */
    MOST_CONNECTIONS = 6250, /* of one process, which shares no addresses */
    MOST_WORKERS = 250,
    SLEEPERS = 5000,
    FLOCKS = 2000,
    FIRST_PORT = 20000,
    PROGRAM = 3, /* scripts/crowded has this program open when it runs it */
    SPARE_DESCRIPTORS = 64,
    SPARE_PROCESSES = 512,
    PAGE = 4096,
};

struct result {
    int kind, count, error;
};

static struct {
    const char *name;
    int wanted, made, error;
} crowd[KINDS] = {
    [TCP] = {"TCP sockets", 2 * CONNECTIONS, 0, 0},
    [UNIX] = {"Unix sockets", 2 * CONNECTIONS / UNIX_SHARE, 0, 0},
    [PROCESSES] = {"processes", SLEEPERS, 0, 0},
    [MAPS] = {"maps", 50000, 0, 0},
    [LOCKS] = {"locks", 10000, 0, 0},
};

static const int handled[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD};

static pid_t members[SLEEPERS + MOST_WORKERS + 2];
static size_t member_count;
static pid_t creator;

static const char *limit(int kind, int error) {
    if (error == EMFILE) return "RLIMIT_NOFILE";
    if (error == ENFILE) return "fs.file-max";
    if (kind == PROCESSES || error == EAGAIN)
        return "RLIMIT_NPROC, kernel.pid_max, kernel.threads-max, or pids.max of a cgroup";
    if (kind == MAPS) return "vm.max_map_count";
    return kind == LOCKS ? "RLIMIT_LOCKS" : "net.ipv4.tcp_mem, or memory";
}

/* MARK: Members of the crowd */

/* 0 in the child, which lives as long as this process. */
static pid_t start_member(const char *name) {
    pid_t child = fork();
    if (child > 0) members[member_count++] = child;
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != creator) _exit(0);
    prctl(PR_SET_NAME, name);
    return 0;
}

static void end_members(size_t kept) {
    for (size_t i = kept; i < member_count; i++) kill(members[i], SIGKILL);
    for (size_t i = kept; i < member_count; i++) waitpid(members[i], NULL, 0);
    if (member_count > kept) member_count = kept;
}

_Noreturn static void sleep_for_ever(void) {
    for (;;) pause();
}

static void tell(int output, int kind, int count, int error) {
    struct result result = {kind, count, error};
    if (write(output, &result, sizeof result) != sizeof result) _exit(1);
}

static struct sockaddr_in address(int worker, int host, int port) {
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(0x7f000000U + (uint32_t)(worker + 1) * 256 + (uint32_t)host),
    };
}

/* Closing it sends a reset, so that nothing stays in TIME_WAIT. */
static int bound_socket(struct sockaddr_in own) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0
        || setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0
        || bind(descriptor, (struct sockaddr *)&own, sizeof own) < 0)
        return -1;
    return descriptor;
}

_Noreturn static void hold_sockets(int output, int worker, int connections) {
    struct sockaddr_in server = address(worker, 1, FIRST_PORT);
    int made = 0, ends[2], listener = bound_socket(server);
    if (listener >= 0 && listen(listener, 16) == 0) {
        for (; made < connections; made++) {
            int client = bound_socket(address(worker, 2, FIRST_PORT + 1 + made));
            if (client < 0 || connect(client, (struct sockaddr *)&server, sizeof server) < 0
                || accept(listener, NULL, NULL) < 0)
                break;
        }
    }
    tell(output, TCP, 2 * made, made < connections ? errno : 0);
    int pairs = connections / UNIX_SHARE;
    for (made = 0; made < pairs && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0; made++) {}
    tell(output, UNIX, 2 * made, made < pairs ? errno : 0);
    close(output);
    sleep_for_ever();
}

/* Two neighbors with different rights are two maps. */
_Noreturn static void hold_maps(int output) {
    int made = 0, wanted = crowd[MAPS].wanted;
    char *start = mmap(NULL, (size_t)wanted * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start != MAP_FAILED)
        while (made < wanted && mprotect(start + (size_t)made * PAGE, PAGE, PROT_READ) == 0) made += 2;
    tell(output, MAPS, made, made < wanted ? errno : 0);
    close(output);
    sleep_for_ever();
}

/* Ranges that touch would be one lock. */
static int lock_ranges(int file, int command, int wanted) {
    int made = 0;
    for (; made < wanted; made++) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2L * made, .l_len = 1};
        if (fcntl(file, command, &lock) < 0) break;
    }
    return made;
}

static int lock_descriptions(int file, int wanted) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int made = 0, other;
    while (made < wanted && (other = open(path, O_RDWR)) >= 0 && flock(other, LOCK_SH) == 0) made++;
    return made;
}

_Noreturn static void hold_locks(int output, int descriptors) {
    int files[3], wanted = crowd[LOCKS].wanted, flocks = descriptors < FLOCKS ? descriptors : FLOCKS, made = 0;
    for (int i = 0; i < 3; i++) files[i] = memfd_create("crowd", MFD_CLOEXEC);
    made += lock_ranges(files[0], F_SETLK, (wanted - flocks) / 2);
    made += lock_ranges(files[1], F_OFD_SETLK, wanted - flocks - (wanted - flocks) / 2);
    made += lock_descriptions(files[2], flocks);
    tell(output, LOCKS, made, made < wanted ? errno : 0);
    close(output);
    sleep_for_ever();
}

/* MARK: Creating it */

/* The signal that asks this process to end; 0 if there is none. */
static int awaited_end(void) {
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++)
        if (handled[i] != SIGCHLD && sigismember(&pending, handled[i])) return handled[i];
    return 0;
}

static void fork_sleepers(void) {
    for (int made = 0; made < SLEEPERS && awaited_end() == 0; made++) {
        pid_t child = start_member("crowd-sleeper");
        if (child == 0) sleep_for_ever();
        if (child > 0) continue;
        crowd[PROCESSES].error = errno;
        /* The command needs some, and so does the rest of the crowd. */
        end_members(member_count > SPARE_PROCESSES ? member_count - SPARE_PROCESSES : 0);
        break;
    }
    crowd[PROCESSES].made = (int)member_count;
}

/* Sets how many descriptors each process may have. */
static int raise_descriptors(struct rlimit before) {
    struct rlimit most = {.rlim_cur = 4 * MOST_CONNECTIONS, .rlim_max = 4 * MOST_CONNECTIONS};
    if (before.rlim_max >= most.rlim_max) most.rlim_max = before.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &most) < 0) {
        most = (struct rlimit){before.rlim_max, before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &most);
    }
    return (int)most.rlim_cur - SPARE_DESCRIPTORS;
}

/* No process could be started for these. */
static void note_failure(int first, int last) {
    for (int kind = first; kind <= last; kind++)
        if (kind != PROCESSES) crowd[kind].error = errno;
}

static void start_workers(int output, int descriptors) {
    /* Two descriptors for a connection, and its share of a Unix pair. */
    int each = (int)((long)descriptors * UNIX_SHARE / (2 * (UNIX_SHARE + 1)));
    if (each > MOST_CONNECTIONS) each = MOST_CONNECTIONS;
    if (each < 1) each = 1;
    int worker = 0;
    for (int left = CONNECTIONS; left > 0 && worker < MOST_WORKERS; left -= each, worker++) {
        pid_t child = start_member("crowd-sockets");
        if (child == 0) hold_sockets(output, worker, each < left ? each : left);
        if (child < 0) return note_failure(TCP, LOCKS);
    }
    if (worker == MOST_WORKERS) crowd[TCP].error = crowd[UNIX].error = EMFILE;
    pid_t child = start_member("crowd-maps");
    if (child == 0) hold_maps(output);
    if (child > 0) child = start_member("crowd-locks");
    if (child == 0) hold_locks(output, descriptors);
    if (child < 0) note_failure(MAPS, LOCKS);
}

static void make(void) {
    struct rlimit before;
    int ends[2];
    fork_sleepers();
    if (getrlimit(RLIMIT_NOFILE, &before) < 0 || pipe2(ends, O_CLOEXEC) < 0) return perror("crowded");
    start_workers(ends[1], raise_descriptors(before));
    setrlimit(RLIMIT_NOFILE, &before);
    close(ends[1]);
    /* Ends when all have reported, or died. */
    struct result result;
    while (read(ends[0], &result, sizeof result) == sizeof result) {
        crowd[result.kind].made += result.count;
        if (result.error != 0) crowd[result.kind].error = result.error;
    }
    close(ends[0]);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns whether everything exists. */
static bool describe(double time) {
    bool complete = true;
    char text[1024];
    int length = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", kind == 0 ? "" : ", ", crowd[kind].made);
        if (crowd[kind].made < crowd[kind].wanted) {
            complete = false;
            length += snprintf(text + length, sizeof text - (size_t)length, " of %d", crowd[kind].wanted);
        }
        length += snprintf(text + length, sizeof text - (size_t)length, " %s", crowd[kind].name);
        if (crowd[kind].made < crowd[kind].wanted)
            length += snprintf(text + length, sizeof text - (size_t)length, " (%s: %s)",
                               crowd[kind].error == 0 ? "killed" : strerror(crowd[kind].error),
                               limit(kind, crowd[kind].error));
    }
    fprintf(stderr, "crowded: %s, after %.1f s\n", text, time);
    return complete;
}

/* MARK: The command */

static pid_t start_command(char **arguments, const sigset_t *mask) {
    pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != creator) _exit(0);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(arguments[0], arguments);
    fprintf(stderr, "crowded: %s: %s\n", arguments[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static int run(char **arguments, const sigset_t *watched, const sigset_t *before) {
    pid_t command = start_command(arguments, before);
    if (command < 0) {
        perror("crowded: fork");
        return 69;
    }
    for (;;) {
        siginfo_t information;
        int signal = sigwaitinfo(watched, &information), status;
        /* The command also receives the terminal's signals. */
        if (signal > 0 && signal != SIGCHLD && information.si_code <= 0) kill(command, signal);
        if (waitpid(command, &status, WNOHANG) == command)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

int main(int count, char **arguments) {
    if (count < 2) {
        fputs("usage: crowded COMMAND ARGUMENT…\n", stderr);
        return 64;
    }
    creator = getpid();
    prctl(PR_SET_NAME, "crowded");
    fcntl(PROGRAM, F_SETFD, FD_CLOEXEC);
    /* The crowd inherits the mask: Ctrl-C is meant for the command. */
    sigset_t watched, before;
    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) sigaddset(&watched, handled[i]);
    sigprocmask(SIG_BLOCK, &watched, &before);
    double began = seconds();
    make();
    int status = 69, end = awaited_end();
    if (end != 0) status = 128 + end;
    else if (describe(seconds() - began) || geteuid() != 0) status = run(arguments + 1, &watched, &before);
    end_members(0);
    return status;
}
