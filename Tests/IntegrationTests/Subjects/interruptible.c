/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits in each call that signal(7) lists as interruptible, one thread per call, and treats EINTR as an error, like programs
 * without a signal handler. Prints "ready", and after a byte of input, or after ARGUMENT seconds, how many calls failed.
 *
 *   interruptible sleep SECONDS   each thread waits in one call all the time
 *   interruptible enter SECONDS   each thread alternately computes and waits for a moment
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;
static bool sleeps;
static char folder[] = "/tmp/interruptible-XXXXXX";

static void check(const char *call, long result) {
    if (result >= 0 || errno != EINTR) return;
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "EINTR in %s\n", call);
}

/* In milliseconds. */
static long limit(void) { return sleeps ? 1000000 : 1; }

static int make_pipe(int end) {
    int ends[2];
    if (pipe(ends) != 0) exit(2);
    return ends[end];
}

/* A socket of a pair, with a timeout for both directions, so that the kernel does not restart its calls. */
static int make_socket(int type, long milliseconds) {
    int ends[2];
    if (socketpair(AF_UNIX, type, 0, ends) != 0) exit(2);
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
    return ends[0];
}

static int make_listener(long milliseconds) {
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    if (bind(listener, (void *)&any, sizeof(sa_family_t)) != 0 || listen(listener, 1) != 0) exit(2);
    return listener;
}

static sigset_t blocked_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    return signals;
}

static void fill(int descriptor) {
    char bytes[4096] = {0};
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    while (write(descriptor, bytes, sizeof bytes) > 0) {}
    fcntl(descriptor, F_SETFL, 0);
}

static int lock_file(void) {
    char path[64];
    snprintf(path, sizeof path, "%s/lock", folder);
    return open(path, O_RDWR | O_CREAT, 0600);
}

/* The wait of one thread. */
struct objects {
    int epoll, pipe, full_pipe, stream, full_stream, datagram, listener, semaphore, queue, inotify, event, timer, signals;
    aio_context_t aio;
    sem_t posix_semaphore;
    uint32_t word;
};

static struct objects make_objects(long ms) {
    struct objects made = {
        .epoll = epoll_create1(0), .pipe = make_pipe(0), .full_pipe = make_pipe(1),
        .stream = make_socket(SOCK_STREAM, ms), .full_stream = make_socket(SOCK_STREAM, ms),
        .datagram = make_socket(SOCK_DGRAM, ms), .listener = make_listener(ms),
        .semaphore = semget(IPC_PRIVATE, 1, 0600), .queue = msgget(IPC_PRIVATE, 0600), .inotify = inotify_init1(0),
        .event = eventfd(0, 0), .timer = timerfd_create(CLOCK_MONOTONIC, 0),
    };
    sigset_t signals = blocked_signals();
    made.signals = signalfd(-1, &signals, 0);
    fill(made.full_pipe);
    fill(made.full_stream);
    if (syscall(SYS_io_setup, 1, &made.aio) != 0) exit(2);
    return made;
}

/* Objects that would outlive the process. */
static void remove_objects(struct objects *made) {
    semctl(made->semaphore, 0, IPC_RMID);
    msgctl(made->queue, IPC_RMID, NULL);
}

#define LIMITED(CALL)                                                                                                  \
    CALL(epoll_wait) CALL(epoll_pwait) CALL(poll) CALL(ppoll) CALL(select) CALL(pselect) CALL(nanosleep)               \
    CALL(clock_nanosleep) CALL(semtimedop) CALL(sigtimedwait) CALL(io_getevents) CALL(io_pgetevents) CALL(futex)       \
    CALL(recv) CALL(recvmsg) CALL(send) CALL(accept)
/* These wait for events that never happen. */
#define UNLIMITED(CALL)                                                                                                \
    CALL(semop) CALL(sigwaitinfo) CALL(read_inotify) CALL(msgrcv) CALL(read_eventfd) CALL(read_timerfd)                \
    CALL(read_signalfd) CALL(read_pipe) CALL(write_pipe) CALL(open_fifo) CALL(flock) CALL(setlkw) CALL(ofd_setlkw)     \
    CALL(waitpid) CALL(sem_wait) CALL(pause) CALL(sigsuspend)

#define NUMBER(NAME) in_##NAME,
enum call { LIMITED(NUMBER) first_unlimited, before_unlimited = first_unlimited - 1, UNLIMITED(NUMBER) call_count };
#define NAME_OF(NAME) [in_##NAME] = #NAME,
static const char *const names[call_count] = {LIMITED(NAME_OF) UNLIMITED(NAME_OF)};

static long wait_in(enum call call, struct objects *in, long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    struct timeval short_limit = {time.tv_sec, time.tv_nsec / 1000};
    struct pollfd polled = {.fd = in->pipe, .events = POLLIN};
    struct epoll_event ready;
    struct io_event done;
    struct sembuf down = {0, -1, 0};
    struct flock lock = {.l_type = F_WRLCK};
    struct msghdr message = {0};
    struct { long type; char bytes[8]; } received;
    sigset_t signals = blocked_signals(), all;
    sigfillset(&all);
    char bytes[512], path[64];
    snprintf(path, sizeof path, "%s/fifo", folder);
    switch (call) {
        case in_epoll_wait: return epoll_wait(in->epoll, &ready, 1, (int)ms);
        case in_epoll_pwait: return epoll_pwait(in->epoll, &ready, 1, (int)ms, &signals);
        case in_poll: return poll(&polled, 1, (int)ms);
        case in_ppoll: return ppoll(&polled, 1, &time, NULL);
        case in_select: return select(0, NULL, NULL, NULL, &short_limit);
        case in_pselect: return pselect(0, NULL, NULL, NULL, &time, NULL);
        case in_nanosleep: return nanosleep(&time, NULL);
        case in_clock_nanosleep: return errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL), -(errno != 0);
        case in_semtimedop: return semtimedop(in->semaphore, &down, 1, &time);
        case in_sigtimedwait: return sigtimedwait(&signals, NULL, &time);
        case in_io_getevents: return syscall(SYS_io_getevents, in->aio, 1, 1, &done, &time);
        case in_io_pgetevents: return syscall(SYS_io_pgetevents, in->aio, 1, 1, &done, &time, NULL);
        case in_futex: return syscall(SYS_futex, &in->word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
        case in_recv: return recv(in->stream, bytes, 1, 0);
        case in_recvmsg: return recvmsg(in->datagram, &message, 0);
        case in_send: return send(in->full_stream, bytes, 1, 0);
        case in_accept: return accept(in->listener, NULL, NULL);
        case in_semop: return semop(in->semaphore, &down, 1);
        case in_sigwaitinfo: return sigwaitinfo(&signals, NULL);
        case in_read_inotify: return read(in->inotify, bytes, sizeof bytes);
        case in_msgrcv: return msgrcv(in->queue, &received, sizeof received.bytes, 0, 0);
        case in_read_eventfd: return read(in->event, bytes, 8);
        case in_read_timerfd: return read(in->timer, bytes, 8);
        case in_read_signalfd: return read(in->signals, bytes, sizeof bytes);
        case in_read_pipe: return read(in->pipe, bytes, 1);
        case in_write_pipe: return write(in->full_pipe, bytes, 1);
        case in_open_fifo: return open(path, O_RDONLY);
        case in_flock: return flock(lock_file(), LOCK_EX);
        case in_setlkw: return fcntl(lock_file(), F_SETLKW, &lock);
        case in_ofd_setlkw: return fcntl(lock_file(), F_OFD_SETLKW, &lock);
        case in_waitpid: return waitpid(-1, NULL, 0);
        case in_sem_wait: return sem_wait(&in->posix_semaphore);
        case in_pause: return pause();
        case in_sigsuspend: return sigsuspend(&all);
        default: exit(2);
    }
}

static struct waiter {
    enum call call;
    struct objects *objects;
} waiters[call_count];

static void *run(void *argument) {
    const struct waiter *waiter = argument;
    unsigned seed = waiter->call;
    do {
        for (volatile int i = rand_r(&seed) % 30000; !sleeps && i > 0; i = i - 1) {}
        check(names[waiter->call], wait_in(waiter->call, waiter->objects, limit()));
    } while (!sleeps);
    return NULL;
}

/* A separate process holds the locks, because those of one process do not conflict. */
static void hold_locks(void) {
    int ready[2];
    if (pipe(ready) != 0) exit(2);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int file = lock_file();
        struct flock lock = {.l_type = F_WRLCK};
        if (flock(file, LOCK_EX) != 0 || fcntl(file, F_SETLK, &lock) != 0) _exit(2);
        close(ready[0]);
        if (write(ready[1], "", 1) != 1) _exit(2);
        for (;;) pause();
    }
    char byte;
    if (read(ready[0], &byte, 1) != 1) exit(2);
}

static void tell(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL) return;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (path[0] == '@') address.sun_path[0] = '\0';
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    int socket_to_watchdog = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sendto(socket_to_watchdog, text, strlen(text), 0, (void *)&address, length);
    close(socket_to_watchdog);
}

int main(int count, char **arguments) {
    if (count < 3 || mkdtemp(folder) == NULL) return 2;
    char path[64];
    snprintf(path, sizeof path, "%s/fifo", folder);
    if (mkfifo(path, 0600) != 0) return 2;
    sigset_t signals = blocked_signals();
    sigprocmask(SIG_BLOCK, &signals, NULL);
    sleeps = strcmp(arguments[1], "sleep") == 0;
    hold_locks();
    enum call calls = sleeps ? call_count : first_unlimited;
    static struct objects objects[call_count];
    for (enum call call = 0; call < calls; call++) {
        pthread_t thread;
        objects[call] = make_objects(limit());
        waiters[call] = (struct waiter){call, &objects[call]};
        if (pthread_create(&thread, NULL, run, &waiters[call]) != 0) return 2;
        pthread_setname_np(thread, names[call]);
        pthread_detach(thread);
    }
    int events = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(events, EPOLL_CTL_ADD, 0, &event); /* fails for a file, which needs no wait */
    tell("READY=1\nWATCHDOG=1");
    puts("ready");
    fflush(stdout);
    check("epoll_wait of main", epoll_wait(events, &event, 1, (int)(atof(arguments[2]) * 1000)));
    tell("WATCHDOG=1");
    int found = failures;
    for (enum call call = 0; call < calls; call++) remove_objects(&objects[call]);
    snprintf(path, sizeof path, "%s/fifo", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/lock", folder);
    unlink(path);
    rmdir(folder);
    printf("%d interrupted\n", found);
    fflush(stdout);
    _exit(found != 0);
}
