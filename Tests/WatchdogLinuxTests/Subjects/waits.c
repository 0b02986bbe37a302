/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose main thread blocks in the way that its first argument names.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t first, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, held;
static const char *how;

static void forever(void) {
    struct timespec time = {1000000, 0};
    thrd_sleep(&time, 0);
}

static int is(const char *name) { return strcmp(how, name) == 0; }

static void *holder(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "holder");
    if (is("writer")) pthread_rwlock_wrlock(&shared);
    else if (is("readers")) pthread_rwlock_rdlock(&shared);
    else if (!is("join")) pthread_mutex_lock(&first);
    sem_post(&held);
    if (is("deadlock")) pthread_mutex_lock(&second);
    forever();
    return 0;
}

static void *taker(void *mutex) {
    pthread_mutex_lock(mutex);
    return 0;
}

/* A mutex shared by two processes and held by the other one. */
static void two_processes(void) {
    int ready[2];
    char byte;
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(mutex, &attributes);
    pipe(ready);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "kid");
        pthread_mutex_lock(mutex);
        write(ready[1], "1", 1);
        if (is("sharedstopped")) raise(SIGSTOP);
        forever();
    }
    read(ready[0], &byte, 1);
    pthread_mutex_lock(mutex);
}

static void child(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "kid");
    forever();
}

static int bound(int type) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    /* A kernel without Multipath TCP still has TCP. */
    int s = socket(AF_INET, type, strncmp(how, "mptcp", 5) == 0 ? IPPROTO_MPTCP : 0);
    if (s < 0) s = socket(AF_INET, type, 0);
    bind(s, (void *)&address, sizeof address);
    return s;
}

static int connected(int type, int peer) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getsockname(peer, (void *)&address, &length);
    int s = bound(type);
    connect(s, (void *)&address, length);
    return s;
}

static void handle(int signal) { (void)signal; }

/* A connection that a child has accepted; the child writes to it if requested. */
static int accepted(int writes) {
    int server = bound(SOCK_STREAM);
    listen(server, 1);
    int s = connected(SOCK_STREAM, server);
    if (fork() == 0) {
        int other = accept(server, 0, 0);
        if (writes) write(other, "four", 4);
        close(s);
        close(server);
        child();
    }
    close(server);
    return s;
}

/* A server with ten clients that is itself a client; another thread, or the main thread, waits for all of them. */
static void *serve(void *unused) {
    int server = bound(SOCK_STREAM), other = bound(SOCK_STREAM), set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    (void)unused;
    listen(server, 16);
    listen(other, 1);
    for (int i = 0; i < 10; i++) {
        connected(SOCK_STREAM, server);
        epoll_ctl(set, EPOLL_CTL_ADD, accept(server, 0, 0), &event);
    }
    epoll_ctl(set, EPOLL_CTL_ADD, connected(SOCK_STREAM, other), &event);
    for (;;) epoll_wait(set, &event, 1, -1);
}

/* Files of every kind; the ninth is not described. */
static void several(void) {
    static char block[1 << 22];
    int files[9], pair[2];
    int full = bound(SOCK_STREAM);
    listen(full, 0);
    files[0] = eventfd(0, 0);
    files[1] = accepted(0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    if (fork() == 0) { close(pair[0]); child(); }
    close(pair[1]);
    files[2] = pair[0];
    files[3] = connected(SOCK_DGRAM, bound(SOCK_DGRAM));
    files[4] = bound(SOCK_STREAM);
    listen(files[4], 1);
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    getsockname(full, (void *)&address, &length);
    for (int i = 0; i < 3; i++) {
        files[5] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(files[5], (void *)&address, length);
    }
    files[6] = accepted(1);
    files[7] = accepted(0);
    send(files[7], block, sizeof block, MSG_DONTWAIT);
    files[8] = eventfd(0, 0);
    /* One connection is readable, so only its errors are awaited; the last one sends data. */
    short events[9] = {POLLIN, POLLIN, POLLIN, POLLIN, POLLIN, POLLOUT, 0, POLLOUT, POLLIN};
    if (is("poll-several")) {
        struct pollfd set[9];
        for (int i = 0; i < 9; i++) set[i] = (struct pollfd){.fd = files[i], .events = events[i]};
        for (;;) poll(set, 9, 1000000);
    } else if (is("select-several")) {
        fd_set reads, writes, errors;
        FD_ZERO(&reads);
        FD_ZERO(&writes);
        FD_ZERO(&errors);
        for (int i = 0; i < 9; i++) FD_SET(files[i], events[i] == POLLIN ? &reads : events[i] ? &writes : &errors);
        for (;;) {
            fd_set a = reads, b = writes, c = errors;
            select(FD_SETSIZE, &a, &b, &c, 0);
        }
    } else {
        int set = epoll_create1(0);
        for (int i = 0; i < 9; i++) {
            struct epoll_event event = {.events = events[i]};
            epoll_ctl(set, EPOLL_CTL_ADD, files[i], &event);
        }
        struct epoll_event event;
        for (;;) epoll_wait(set, &event, 1, -1);
    }
}

/* Waits for a child's exit by its signal, or ignores it if the name begins with "deaf". */
static void signals(void) {
    sigset_t set, none;
    siginfo_t info;
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, is("deaf-sigtimedwait") ? SIGUSR1 : SIGCHLD);
    int id = fork();
    if (id == 0) child();
    if (is("pidfd") || is("waitpidfd")) {
        struct pollfd one = {.fd = (int)syscall(SYS_pidfd_open, id, 0), .events = POLLIN};
        if (is("pidfd")) poll(&one, 1, -1);
        else waitid((idtype_t)3 /* P_PIDFD */, one.fd, &info, WEXITED);
    } else if (is("pause") || is("deaf-pause")) {
        if (is("pause")) signal(SIGCHLD, handle);
        pause();
    } else {
        sigprocmask(SIG_BLOCK, &set, 0);
        if (is("sigsuspend")) { signal(SIGCHLD, handle); sigsuspend(&none); }
        if (is("sigtimedwait") || is("deaf-sigtimedwait")) sigwaitinfo(&set, &info);
        struct signalfd_siginfo more;
        struct pollfd one = {.fd = signalfd(-1, &set, 0), .events = POLLIN};
        if (is("signalfd")) read(one.fd, &more, sizeof more);
        else poll(&one, 1, -1);
    }
}

/* Two requests that never complete. */
static void ring(void) {
    struct io_uring_params parameters = {0};
    int pair[2], file = (int)syscall(SYS_io_uring_setup, 8, &parameters);
    static char bytes[2][8];
    if (file < 0) forever();
    char *places = mmap(0, parameters.sq_off.array + parameters.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                        IORING_OFF_SQ_RING);
    struct io_uring_sqe *requests = mmap(0, parameters.sq_entries * sizeof *requests, PROT_READ | PROT_WRITE, MAP_SHARED,
                                         file, IORING_OFF_SQES);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    requests[0] = (struct io_uring_sqe){
        .opcode = IORING_OP_RECV, .fd = pair[0], .addr = (unsigned long)bytes[0], .len = sizeof bytes[0]};
    requests[1] = (struct io_uring_sqe){
        .opcode = IORING_OP_RECV, .fd = connected(SOCK_DGRAM, bound(SOCK_DGRAM)), .addr = (unsigned long)bytes[1],
        .len = sizeof bytes[1]};
    unsigned *array = (unsigned *)(places + parameters.sq_off.array);
    array[0] = 0;
    array[1] = 1;
    *(volatile unsigned *)(places + parameters.sq_off.tail) = 2;
    syscall(SYS_io_uring_enter, file, 2, 1, IORING_ENTER_GETEVENTS, 0, 0);
}

static void *reader(void *unused) {
    eventfd_t value;
    (void)unused;
    prctl(PR_SET_NAME, "reader");
    eventfd_read(eventfd(0, 0), &value);
    return 0;
}

static void *poller(void *unused) {
    (void)unused;
    struct pollfd one = {.fd = connected(SOCK_DGRAM, bound(SOCK_DGRAM)), .events = POLLIN};
    poll(&one, 1, -1);
    return 0;
}

static void *writer(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "writer");
    flockfile(stdout);
    sem_post(&held);
    forever();
    return 0;
}

/* A copy of a mutex that a thread holds which was not copied. */
static void forked(void) {
    pthread_t thread;
    sem_init(&held, 0, 0);
    pthread_mutex_init(&first, 0);
    pthread_create(&thread, 0, holder, 0);
    sem_wait(&held);
    int id = fork();
    if (id == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_mutex_lock(&first);
    }
    waitpid(id, 0, 0);
}

/* A lock that outlives the process that took it, in the hands of its child. */
static void inherited(const char *path) {
    int ready[2];
    char byte;
    pipe(ready);
    int id = fork();
    if (id == 0) {
        int file = open(path, O_RDWR | O_CREAT, 0600);
        flock(file, LOCK_EX);
        if (fork() == 0) {
            prctl(PR_SET_NAME, "heir");
            write(ready[1], "1", 1);
            alarm(600);
            forever();
        }
        _exit(0);
    }
    waitpid(id, 0, 0);
    read(ready[0], &byte, 1);
    flock(open(path, O_RDWR), LOCK_EX);
}

/* A connection to a socket that nobody accepts. */
static void unaccepted(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte;
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(server, (void *)&address, sizeof address);
    listen(server, 1);
    connect(client, (void *)&address, sizeof address);
    read(client, &byte, 1);
}

static void threads(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (is("recursive")) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    if (is("errorcheck")) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    if (is("robust")) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (is("inherit")) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&first, &attributes);
    sem_init(&semaphore, 0, 0);
    sem_init(&held, 0, 0);
    if (is("self")) { pthread_mutex_lock(&first); pthread_mutex_lock(&first); }
    if (is("besides")) {
        pthread_create(&thread, 0, reader, 0);
        pthread_create(&thread, 0, poller, 0);
        pthread_create(&thread, 0, serve, 0);
        pthread_create(&thread, 0, holder, 0);
        sem_wait(&held);
        pthread_create(&thread, 0, taker, &first);
        sem_wait(&semaphore);
    }
    if (is("semaphore")) sem_wait(&semaphore);
    if (is("condition")) { pthread_mutex_lock(&second); pthread_cond_wait(&condition, &second); }
    if (is("ended")) {
        pthread_create(&thread, 0, taker, &first);
        pthread_join(thread, 0);
        pthread_mutex_lock(&first);
    }
    if (is("deadlock")) pthread_mutex_lock(&second);
    if (is("joindeadlock")) {
        pthread_mutex_lock(&first);
        pthread_create(&thread, 0, holder, 0);
        pthread_join(thread, 0);
    }
    pthread_create(&thread, 0, holder, 0);
    sem_wait(&held);
    if (is("join")) pthread_join(thread, 0);
    else if (is("writer")) pthread_rwlock_rdlock(&shared);
    else if (is("readers")) pthread_rwlock_wrlock(&shared);
    else pthread_mutex_lock(&first);
}

/* Calls that take paths, for a file system that does not answer. */
static int calls(const char *path, const char *folder) {
    struct stat status;
    struct statx more;
    char buffer[64];
    int directory = open(folder, O_PATH | O_DIRECTORY);
    if (is("signalled")) {
        /* Repeated, because the first signal may precede the call. */
        struct itimerval tick = {{0, 100000}, {0, 100000}};
        signal(SIGALRM, handle);
        setitimer(ITIMER_REAL, &tick, 0);
    }
    if (is("stat") || is("signalled")) return stat(path, &status);
    if (is("statx")) return statx(AT_FDCWD, path, 0, STATX_ALL, &more);
    if (is("fstatat")) return fstatat(directory, "file", &status, 0);
    if (is("fstat")) return fstat(open(path, O_PATH), &status);
    if (is("relative")) return fchdir(directory) == 0 ? mkdir("file", 0700) : 1;
    if (is("access")) return access(path, F_OK);
    if (is("faccessat")) return faccessat(directory, "file", F_OK, 0);
    if (is("chdir")) return chdir(path);
    if (is("rename")) return renameat(AT_FDCWD, path, directory, "other");
    if (is("unlink")) return unlink(path);
    if (is("readlink")) return readlink(path, buffer, sizeof buffer);
    if (is("mkdir")) return mkdir(path, 0700);
    if (is("rmdir")) return rmdir(path);
    if (is("truncate")) return truncate(path, 0);
    if (is("execve")) return execl(path, path, (char *)0);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    char byte;
    int pair[2];
    how = argv[1];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is("pipe")) {
        pipe(pair);
        if (fork() == 0) { close(pair[0]); child(); }
        close(pair[1]);
        read(pair[0], &byte, 1);
    } else if (is("opens")) {
        mkfifo(argv[2], 0600);
        open(argv[2], O_RDONLY);
    } else if (is("fifo")) {
        mkfifo(argv[2], 0600);
        read(open(argv[2], O_RDWR), &byte, 1);
    } else if (is("fiforeader")) {
        mkfifo(argv[2], 0600);
        if (fork() == 0) { open(argv[2], O_WRONLY); child(); }
        read(open(argv[2], O_RDONLY), &byte, 1);
    } else if (is("stream")) {
        pthread_t thread;
        sem_init(&held, 0, 0);
        pthread_create(&thread, 0, writer, 0);
        sem_wait(&held);
        puts("");
    } else if (is("forked")) {
        forked();
    } else if (is("inherited")) {
        inherited(argv[2]);
    } else if (is("unaccepted")) {
        unaccepted(argv[2]);
    } else if (is("nofiles")) {
        select(0, 0, 0, 0, 0);
    } else if (is("tcp") || is("mptcp")) {
        int server = bound(SOCK_STREAM);
        listen(server, 1);
        recv(connected(SOCK_STREAM, server), &byte, 1, 0);
    } else if (is("accepted")) {
        recv(accepted(0), &byte, 1, 0);
    } else if (is("ring")) {
        ring();
    } else if (strstr(how, "-several")) {
        several();
    } else if (strstr(how, "sigsuspend") || strstr(how, "sigtimedwait") || strstr(how, "pause") ||
               strstr(how, "signalfd") || strstr(how, "pidfd")) {
        signals();
    } else if (is("accept") || is("mptcpaccept")) {
        int server = bound(SOCK_STREAM);
        listen(server, 1);
        accept(server, 0, 0);
    } else if (is("connect")) {
        int server = bound(SOCK_STREAM);
        listen(server, 0);
        for (;;) connected(SOCK_STREAM, server);
    } else if (is("polled-connect")) {
        int server = bound(SOCK_STREAM);
        listen(server, 0);
        connected(SOCK_STREAM, server);
        struct sockaddr_in address;
        socklen_t length = sizeof address;
        getsockname(server, (void *)&address, &length);
        struct pollfd one = {.events = POLLOUT};
        // If the queue has room for a second one, the third waits.
        for (int i = 0; i < 2; i++) {
            one.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            connect(one.fd, (void *)&address, length);
        }
        for (;;) poll(&one, 1, 1000000);
    } else if (is("send")) {
        static char block[1 << 22];
        int server = bound(SOCK_STREAM);
        listen(server, 1);
        send(connected(SOCK_STREAM, server), block, sizeof block, 0);
    } else if (is("unixsend")) {
        static char block[1 << 22];
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        if (fork() == 0) { close(pair[0]); child(); }
        close(pair[1]);
        send(pair[0], block, sizeof block, 0);
    } else if (is("splice")) {
        int other[2];
        pipe(pair);
        pipe(other);
        splice(pair[0], 0, other[1], 0, 1, 0);
    } else if (is("stoppedpipe")) {
        pipe(pair);
        int id = fork();
        if (id == 0) { close(pair[0]); child(); }
        close(pair[1]);
        kill(id, SIGSTOP);
        read(pair[0], &byte, 1);
    } else if (is("semaphores")) {
        struct sembuf take = {0, -1, 0};
        int set = semget(IPC_PRIVATE, 1, 0600);
        if (fork() == 0) {
            /* The set is removed with its user. */
            sigset_t signals;
            int number;
            sigemptyset(&signals);
            sigaddset(&signals, SIGUSR1);
            sigprocmask(SIG_BLOCK, &signals, 0);
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            alarm(600);
            sigwait(&signals, &number);
            semctl(set, 0, IPC_RMID);
            _exit(0);
        }
        semop(set, &take, 1);
    } else if (is("shared") || is("sharedstopped")) {
        two_processes();
    } else if (is("udp")) {
        recv(connected(SOCK_DGRAM, bound(SOCK_DGRAM)), &byte, 1, 0);
    } else if (is("unix")) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        if (fork() == 0) { close(pair[0]); child(); }
        close(pair[1]);
        recv(pair[0], &byte, 1, 0);
    } else if (is("eventfd")) {
        eventfd_t value;
        eventfd_read(eventfd(0, 0), &value);
    } else if (is("lease")) {
        int file = open(argv[2], O_RDWR | O_CREAT, 0600);
        pipe(pair);
        if (fork() == 0) {
            fcntl(file, F_SETLEASE, F_WRLCK);
            signal(SIGIO, SIG_IGN);
            write(pair[1], "x", 1);
            child();
        }
        read(pair[0], &byte, 1);
        close(file);
        open(argv[2], O_RDWR);
    } else if (is("served")) {
        serve(0);
    } else if (is("epoll")) {
        struct epoll_event event = {.events = EPOLLIN};
        int set = epoll_create1(0);
        epoll_ctl(set, EPOLL_CTL_ADD, eventfd(0, 0), &event);
        epoll_ctl(set, EPOLL_CTL_ADD, eventfd(0, 0), &event);
        epoll_wait(set, &event, 1, -1);
    } else if (is("reused")) {
        struct epoll_event event = {.events = EPOLLIN};
        int set = epoll_create1(0), file = eventfd(0, 0);
        epoll_ctl(set, EPOLL_CTL_ADD, file, &event);
        pipe(pair);
        dup(file);
        dup2(pair[0], file);
        epoll_wait(set, &event, 1, -1);
    } else if (is("nested")) {
        struct epoll_event event = {.events = EPOLLIN};
        int set = epoll_create1(0), inner = epoll_create1(0);
        epoll_ctl(inner, EPOLL_CTL_ADD, eventfd(0, 0), &event);
        epoll_ctl(set, EPOLL_CTL_ADD, inner, &event);
        epoll_wait(set, &event, 1, -1);
    } else if (is("poll")) {
        struct pollfd one = {.fd = eventfd(0, 0), .events = POLLIN};
        poll(&one, 1, -1);
    } else if (is("select")) {
        fd_set set;
        FD_ZERO(&set);
        int a = eventfd(0, 0), b = eventfd(0, 0);
        FD_SET(a, &set);
        FD_SET(b, &set);
        select(b + 1, &set, 0, 0, 0);
    } else if (is("flock") || is("fcntl")) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        pipe(pair);
        if (fork() == 0) {
            int file = open(argv[2], O_RDWR | O_CREAT, 0600);
            if (is("flock")) flock(file, LOCK_EX); else fcntl(file, F_SETLK, &lock);
            write(pair[1], "1", 1);
            child();
        }
        read(pair[0], &byte, 1);
        int file = open(argv[2], O_RDWR | O_CREAT, 0600);
        if (is("flock")) flock(file, LOCK_EX); else fcntl(file, F_SETLKW, &lock);
    } else if (is("wait")) {
        int id = fork();
        if (id == 0) child();
        waitpid(id, 0, 0);
    } else if (is("vfork")) {
        if (vfork() == 0) child();
    } else if (is("spawn")) {
        posix_spawn_file_actions_t actions;
        char *const command[] = {"true", 0};
        pid_t id;
        mkfifo(argv[2], 0600);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, argv[2], O_RDONLY, 0);
        posix_spawn(&id, "/bin/true", &actions, 0, command, environ);
    } else if (is("waitany")) {
        if (fork() == 0) child();
        siginfo_t info;
        waitid(P_ALL, 0, &info, WEXITED);
    } else if (is("sleep")) {
        forever();
    } else if (is("call")) {
        char folder[256];
        how = argv[3];
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(argv[2], '/') - argv[2]), argv[2]);
        calls(argv[2], folder);
    } else {
        threads();
    }
    return 1;
}
