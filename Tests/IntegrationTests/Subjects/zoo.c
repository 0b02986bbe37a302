// SPDX-License-Identifier: Apache-2.0
//
// A zoo of hangs: answers one ping of watchdogd, and then its main thread hangs in the way that the first argument says,
// in the function hang_KIND.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIND(name) __attribute__((noinline)) static void hang_##name(void)

static volatile unsigned long sink;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t special;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier, started;
static pthread_spinlock_t spinlock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fail(const char *what) {
    perror(what);
    _exit(3);
}

static void *sleep_for_ever(void *unused) {
    (void)unused;
    for (;;) sleep(1000);
    return NULL;
}

static pthread_t start(void *(*body)(void *), void *argument, const char *name) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) != 0) fail("pthread_create");
    pthread_setname_np(thread, name);
    return thread;
}

static void wait_until_started(void) { pthread_barrier_wait(&started); }

// A worker that takes a mutex and keeps it.
static void *hold(void *mutex) {
    pthread_mutex_lock(mutex);
    wait_until_started();
    return sleep_for_ever(NULL);
}

static void lock_special(int type, int protocol, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&special, &attributes);
    start(hold, &special, "holder");
    wait_until_started();
    pthread_mutex_lock(&special);
}

KIND(mutex) {
    start(hold, &first, "holder");
    wait_until_started();
    pthread_mutex_lock(&first);
}
KIND(recursive_mutex) { lock_special(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0); }
KIND(errorcheck_mutex) { lock_special(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, 0); }
KIND(robust_mutex) { lock_special(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 1); }
KIND(pi_mutex) { lock_special(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0); }
KIND(self_deadlock) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&first);
}

static void *lock_in_turn(void *unused) {
    (void)unused;
    pthread_mutex_lock(&second);
    wait_until_started();
    pthread_mutex_lock(&first);
    return NULL;
}
KIND(deadlock) {
    pthread_mutex_lock(&first);
    start(lock_in_turn, NULL, "rival");
    wait_until_started();
    pthread_mutex_lock(&second);
}

static void *write_lock(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&rwlock);
    wait_until_started();
    return sleep_for_ever(NULL);
}
KIND(rwlock_writer) {
    start(write_lock, NULL, "writer");
    wait_until_started();
    pthread_rwlock_rdlock(&rwlock);
}
static void *read_lock(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&rwlock);
    wait_until_started();
    return sleep_for_ever(NULL);
}
KIND(rwlock_reader) {
    start(read_lock, NULL, "reader");
    wait_until_started();
    pthread_rwlock_wrlock(&rwlock);
}
KIND(condition) {
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&first);
    for (;;) pthread_cond_wait(&condition, &first);
}
KIND(semaphore) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
}
KIND(thread_barrier) {
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_barrier_wait(&barrier);
}
KIND(join) { pthread_join(start(sleep_for_ever, NULL, "worker"), NULL); }

static void initialise(void) {
    wait_until_started();
    sleep_for_ever(NULL);
}
static void *initialise_once(void *unused) {
    (void)unused;
    pthread_once(&once, initialise);
    return NULL;
}
KIND(once_initialiser) {
    start(initialise_once, NULL, "initialiser");
    wait_until_started();
    pthread_once(&once, initialise);
}
KIND(raw_futex) {
    static int word = 7;
    for (;;) syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 7, NULL, NULL, 0);
}

KIND(pipe_read) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) fail("pipe");
    if (read(ends[0], &byte, 1) < 0) fail("read");
}
KIND(pipe_write) {
    static char block[1 << 20];
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    if (write(ends[1], block, sizeof block) < 0) fail("write");
}
static void connected(int ends[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 1) != 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], (struct sockaddr *)&address, length) != 0) fail("connect");
    ends[1] = accept(listener, NULL, NULL);
}
KIND(tcp_receive) {
    int ends[2];
    char byte;
    connected(ends);
    if (recv(ends[0], &byte, 1, 0) < 0) fail("recv");
}
KIND(tcp_send) {
    static char block[64 << 20];
    int ends[2];
    connected(ends);
    if (send(ends[0], block, sizeof block, 0) < 0) fail("send");
}
static int unix_listener(struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "zoo-%d", getpid());
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)address, sizeof *address) != 0 || listen(listener, 0) != 0) fail("listen");
    return listener;
}
KIND(unix_accept) {
    struct sockaddr_un address;
    accept(unix_listener(&address), NULL, NULL);
}
KIND(unix_connect) {
    struct sockaddr_un address;
    unix_listener(&address);
    for (;;)
        if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
}
KIND(udp_receive) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int end = socket(AF_INET, SOCK_DGRAM, 0);
    char byte;
    bind(end, (struct sockaddr *)&address, sizeof address);
    if (recvfrom(end, &byte, 1, 0, NULL, NULL) < 0) fail("recvfrom");
}
KIND(socketpair_message) {
    int ends[2];
    struct msghdr message = {0};
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) fail("socketpair");
    if (recvmsg(ends[0], &message, 0) < 0) fail("recvmsg");
}

static int open_scratch(void) {
    int file = open("zoo.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail("open");
    return file;
}
static void wait_for_child_to_lock(int exclusive_file) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) fail("pipe");
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int file = open_scratch();
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if ((exclusive_file ? flock(file, LOCK_EX) : fcntl(file, F_SETLKW, &lock)) != 0) fail("lock");
        if (write(ends[1], "!", 1) != 1) fail("write");
        sleep_for_ever(NULL);
    }
    if (read(ends[0], &byte, 1) != 1) fail("read");
}
KIND(file_lock) {
    wait_for_child_to_lock(1);
    flock(open_scratch(), LOCK_EX);
}
KIND(record_lock) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    wait_for_child_to_lock(0);
    fcntl(open_scratch(), F_SETLKW, &lock);
}
KIND(fifo_open) {
    if (mkfifo("zoo.fifo", 0600) != 0 && errno != EEXIST) fail("mkfifo");
    open("zoo.fifo", O_RDONLY);
}
KIND(child) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sleep_for_ever(NULL);
    }
    waitpid(child, NULL, 0);
}
KIND(any_child) {
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sleep_for_ever(NULL);
    }
    siginfo_t information;
    waitid(P_ALL, 0, &information, WEXITED);
}
KIND(plain_sleep) { sleep(1000); }
KIND(pause_for_signal) { pause(); }
KIND(signal_wait) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigwait(&set, &signal);
}
KIND(signal_suspend) {
    sigset_t set;
    sigemptyset(&set);
    sigsuspend(&set);
}
KIND(poll_descriptor) {
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    poll(&entry, 1, -1);
}
KIND(epoll_descriptor) {
    struct epoll_event event = {.events = EPOLLIN};
    int ends[2], instance = epoll_create1(0);
    if (pipe(ends) != 0) fail("pipe");
    epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &event);
    epoll_wait(instance, &event, 1, -1);
}
KIND(select_descriptor) {
    int ends[2];
    fd_set set;
    if (pipe(ends) != 0) fail("pipe");
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    select(ends[0] + 1, &set, NULL, NULL, NULL);
}
KIND(eventfd_read) {
    eventfd_t value;
    eventfd_read(eventfd(0, 0), &value);
}
KIND(timerfd_read) {
    char bytes[8];
    if (read(timerfd_create(CLOCK_MONOTONIC, 0), bytes, 8) < 0) fail("read");
}
KIND(inotify_read) {
    char bytes[256];
    if (read(inotify_init(), bytes, sizeof bytes) < 0) fail("read");
}
KIND(message_queue) {
    struct {
        long type;
        char text[8];
    } message;
    int queue = msgget(IPC_PRIVATE, 0600);
    if (fork() == 0) {
        // Removed with its user: nothing of it stays on the machine.
        prctl(PR_SET_PDEATHSIG, SIGUSR1);
        sigset_t set;
        int signal;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        alarm(30);
        sigwait(&set, &signal);
        msgctl(queue, IPC_RMID, NULL);
        _exit(0);
    }
    msgrcv(queue, &message, sizeof message.text, 0, 0);
}

// The page is registered with a userfaultfd that nobody serves.
KIND(page_fault) {
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    if (file < 0 || ioctl(file, UFFDIO_API, &api) != 0) fail("userfaultfd");
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(unsigned long)page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (ioctl(file, UFFDIO_REGISTER, &range) != 0) fail("register");
    sink = (unsigned long)*(volatile char *)page;
}

// The parent of vfork sleeps where no signal reaches it until its child executes something.
KIND(vfork_parent) {
    if (vfork() == 0) {
        // Only system calls: the memory is the parent's.
        for (;;) {
            struct timespec time = {1000, 0};
            syscall(SYS_nanosleep, &time, NULL);
        }
    }
}

KIND(spin) {
    for (;;) sink++;
}
KIND(spin_in_kernel) {
    for (;;) sink += (unsigned long)syscall(SYS_getppid);
}
KIND(spin_yielding) {
    for (;;) sched_yield();
}
static void *take_spinlock(void *unused) {
    (void)unused;
    pthread_spin_lock(&spinlock);
    wait_until_started();
    return sleep_for_ever(NULL);
}
KIND(spin_lock) {
    pthread_spin_init(&spinlock, 0);
    start(take_spinlock, NULL, "holder");
    wait_until_started();
    pthread_spin_lock(&spinlock);
}
__attribute__((noinline)) static unsigned long fibonacci(unsigned n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
KIND(recursion) {
    for (;;) sink += fibonacci(40);
}
KIND(regular_expression) {
    regex_t expression;
    char text[4096];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    regcomp(&expression, "\\(a*\\)*\\1*b", 0);
    for (;;) sink += (unsigned long)regexec(&expression, text, 0, NULL, 0);
}
KIND(many_short_waits) {
    for (;;) {
        struct timespec begin, now, wait = {0, 5000000};
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
            sink++;
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 4000000);
        nanosleep(&wait, NULL);
    }
}

static void pin(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
}
static void compete(int nice_value) {
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "competitor");
    setpriority(PRIO_PROCESS, 0, nice_value);
    for (;;) sink++;
}
KIND(starved) {
    pin();
    for (int i = 0; i < 4; i++) compete(0);
    setpriority(PRIO_PROCESS, 0, 15);
    for (;;) sink++;
}
KIND(throttled) {
    // Version 1 and 2 of cgroups; the parent of the group is where this process is.
    char path[4096], text[64];
    static const char *const roots[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/watchdogd-zoo-%s", roots[i], getenv("ZOO_ID"));
        if (mkdir(path, 0700) != 0) continue;
        snprintf(path, sizeof path, "%s/watchdogd-zoo-%s/cpu.cfs_quota_us", roots[i], getenv("ZOO_ID"));
        int quota = open(path, O_WRONLY);
        if (quota < 0 || write(quota, "10000", 5) != 5) fail("quota");
        snprintf(path, sizeof path, "%s/watchdogd-zoo-%s/cgroup.procs", roots[i], getenv("ZOO_ID"));
        int processes = open(path, O_WRONLY);
        int length = snprintf(text, sizeof text, "%d", getpid());
        if (processes < 0 || write(processes, text, (size_t)length) != length) fail("cgroup.procs");
        for (;;) sink++;
    }
    fail("no cgroup with a quota");
}

static void *hold_with_little_priority(void *unused) {
    (void)unused;
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
    pthread_mutex_lock(&first);
    wait_until_started();
    for (;;) sink++;
    return NULL;
}
KIND(priority_inversion) {
    pin();
    start(hold_with_little_priority, NULL, "lowly");
    wait_until_started();
    for (int i = 0; i < 2; i++) compete(0);
    pthread_mutex_lock(&first);
}
KIND(main_thread_ends) {
    start(sleep_for_ever, NULL, "survivor");
    pthread_exit(NULL);
}

static const struct {
    const char *name;
    void (*hang)(void);
} kinds[] = {
#define ENTRY(name) {#name, hang_##name},
    ENTRY(mutex) ENTRY(recursive_mutex) ENTRY(errorcheck_mutex) ENTRY(robust_mutex) ENTRY(pi_mutex)
    ENTRY(self_deadlock) ENTRY(deadlock) ENTRY(rwlock_writer) ENTRY(rwlock_reader) ENTRY(condition) ENTRY(semaphore)
    ENTRY(thread_barrier) ENTRY(join) ENTRY(once_initialiser) ENTRY(raw_futex) ENTRY(pipe_read) ENTRY(pipe_write)
    ENTRY(tcp_receive) ENTRY(tcp_send) ENTRY(unix_accept) ENTRY(unix_connect) ENTRY(udp_receive)
    ENTRY(socketpair_message) ENTRY(file_lock) ENTRY(record_lock) ENTRY(fifo_open) ENTRY(child) ENTRY(any_child)
    ENTRY(plain_sleep) ENTRY(pause_for_signal) ENTRY(signal_wait) ENTRY(signal_suspend) ENTRY(poll_descriptor)
    ENTRY(epoll_descriptor) ENTRY(select_descriptor) ENTRY(eventfd_read) ENTRY(timerfd_read) ENTRY(inotify_read)
    ENTRY(message_queue) ENTRY(page_fault) ENTRY(vfork_parent) ENTRY(spin) ENTRY(spin_in_kernel) ENTRY(spin_yielding)
    ENTRY(spin_lock) ENTRY(recursion) ENTRY(regular_expression) ENTRY(many_short_waits) ENTRY(starved)
    ENTRY(throttled) ENTRY(priority_inversion) ENTRY(main_thread_ends)
};

static void say(int channel, const char *text) {
    if (send(channel, text, strlen(text), 0) < 0) fail("send");
}

static void answer_ping(int channel) {
    char text[512], answer[128];
    for (;;) {
        ssize_t length = recv(channel, text, sizeof text - 1, 0);
        if (length <= 0) fail("recv");
        text[length] = '\0';
        const char *ping = strstr(text, "PING=");
        if (ping == NULL) continue;
        snprintf(answer, sizeof answer, "PONG=%llu", strtoull(ping + 5, NULL, 10));
        say(channel, answer);
        return;
    }
}

// A program that is busy and answers all the same, for so many milliseconds.
static void answer_for(int channel, long milliseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        struct pollfd entry = {.fd = channel, .events = POLLIN};
        if (poll(&entry, 1, 1) > 0) answer_ping(channel);
        for (int i = 0; i < 1000000; i++) sink++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < milliseconds);
}

__attribute__((noinline)) static void handle_event(void (*hang)(void)) {
    hang();
    sink++;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    const char *descriptor = getenv("WATCHDOG_CHANNEL");
    int channel = descriptor == NULL ? -1 : atoi(descriptor);
    pthread_barrier_init(&started, NULL, 2);
    char hello[64];
    snprintf(hello, sizeof hello, "HELLO=1\nPID=%d", getpid());
    if (channel >= 0) {
        say(channel, hello);
        say(channel, "READY=1");
        answer_ping(channel);
    }
    if (strcmp(name, "busy_but_answering") == 0) {
        answer_for(channel, 2000);
        return 0;
    }
    // Hangs for so many milliseconds, and then goes on.
    if (strcmp(name, "hang_and_recover") == 0) {
        answer_ping(channel);
        usleep(1000 * (useconds_t)atoi(arguments[2]));
        answer_for(channel, 500);
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(name, kinds[i].name) == 0) handle_event(kinds[i].hang);
    fprintf(stderr, "zoo: no kind \"%s\"\n", name);
    return 2;
}
