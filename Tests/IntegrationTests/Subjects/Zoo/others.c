// SPDX-License-Identifier: Apache-2.0
// Hangs whose cause is another thread or process than the one that has what is awaited, or that cannot end at all.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "zoo.h"

static pthread_mutex_t pool = PTHREAD_MUTEX_INITIALIZER, queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t available = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

__attribute__((noinline)) static void fetch_quote(void) {
    int ends[2];
    char byte;
    connected(ends);
    wait_until_started();
    sink += recv(ends[0], &byte, 1, 0);
}
static void *fetch(void *unused) {
    fetch_quote();
    return unused;
}
static void *fetch_with_lock(void *unused) {
    pthread_mutex_lock(&pool);
    fetch_quote();
    return unused;
}
static void *update(void *unused) {
    pthread_mutex_lock(&pool);
    return unused;
}
static void take_connection(void) {
    pthread_mutex_lock(&queue);
    pthread_cond_wait(&available, &queue);
}
KIND(condition_of_reader) {
    start(fetch, NULL, "fetcher");
    wait_until_started();
    take_connection();
}
KIND(pool_of_reader) {
    start(fetch_with_lock, NULL, "fetcher");
    wait_until_started();
    for (int i = 0; i < 3; i++) start(update, NULL, "updater");
    take_connection();
}
static void *take_with_lock(void *unused) {
    pthread_mutex_lock(&pool);
    wait_until_started();
    take_connection();
    return unused;
}
KIND(mutex_of_condition) {
    start(take_with_lock, NULL, "queue");
    wait_until_started();
    pthread_mutex_lock(&pool);
}
__attribute__((noinline)) static void *scan_table(void *unused) {
    pthread_rwlock_rdlock(&table);
    wait_until_started();
    for (;;) sink++;
    return unused;
}
KIND(rwlock_of_computing) {
    start(scan_table, NULL, "scanner");
    wait_until_started();
    pthread_rwlock_wrlock(&table);
}

static FILE *output;
static void *print_much(void *unused) {
    for (;;) fputs("a line of a log that nobody reads\n", output);
    return unused;
}
KIND(stream_lock) {
    output = popen("exec sleep 1000", "w");
    if (output == NULL) fail("popen");
    setvbuf(output, NULL, _IONBF, 0);
    start(print_much, NULL, "printer");
    // It has the lock all the time once the pipe is full.
    for (int failures = 0; failures < 20; failures++) {
        usleep(5000);
        if (ftrylockfile(output) != 0) continue;
        funlockfile(output);
        failures = 0;
    }
    fputs("hello\n", output);
}

static void stamp(int signal) {
    time_t now = signal;
    sink += localtime(&now) != NULL;
}
KIND(library_lock_in_handler) {
    struct itimerval tick = {{0, 300}, {0, 300}};
    signal(SIGALRM, stamp);
    // The C library leaves out its locks in a process that never had a second thread.
    start(sleep_for_ever, NULL, "idle");
    setitimer(ITIMER_REAL, &tick, NULL);
    for (;;) {
        time_t now = 0;
        sink += localtime(&now) != NULL;
    }
}
static void *hold(void *unused) {
    pthread_mutex_lock(&pool);
    wait_until_started();
    sleep_for_ever(NULL);
    return unused;
}
__attribute__((noinline)) static void save_copy(void) { pthread_mutex_lock(&pool); }
KIND(forked_mutex) {
    start(hold, NULL, "holder");
    wait_until_started();
    pid_t copy = fork();
    if (copy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        save_copy();
    }
    waitpid(copy, NULL, 0);
}

static int pipe_to_child[2];
static void keep_reading_end(void) {
    close(pipe_to_child[1]);
    child_is_ready();
}
static pid_t child_with_pipe(void) {
    if (pipe(pipe_to_child) != 0) fail("pipe");
    pid_t reader = child(keep_reading_end);
    close(pipe_to_child[0]);
    return reader;
}
static void write_log(void) {
    static char block[1 << 20];
    if (write(pipe_to_child[1], block, sizeof block) < 0) fail("write");
}
KIND(pipe_to_child) {
    child_with_pipe();
    write_log();
}
KIND(pipe_to_stopped_child) {
    kill(child_with_pipe(), SIGSTOP);
    write_log();
}
static void open_for_writing(void) {
    if (open("zoo.fifo", O_RDWR) < 0) fail("open");
    child_is_ready();
}
KIND(fifo_of_child) {
    char byte;
    if (mkfifo("zoo.fifo", 0600) != 0) fail("mkfifo");
    child(open_for_writing);
    int file = open("zoo.fifo", O_RDONLY);
    if (read(file, &byte, 1) < 0) fail("read");
}
static void leave_lock(void) {
    int file = open("zoo.lock", O_RDWR | O_CREAT, 0600);
    if (file < 0 || flock(file, LOCK_EX) != 0) fail("flock");
    if (fork() != 0) {
        child_is_ready();
        _exit(0);
    }
    prctl(PR_SET_NAME, "heir");
}
KIND(file_lock_of_heir) {
    int status;
    waitpid(child(leave_lock), &status, 0);
    flock(open("zoo.lock", O_RDWR | O_CLOEXEC), LOCK_EX);
}
KIND(unix_unaccepted) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "zoo.socket"};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0) fail("listen");
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    if (read(client, &byte, 1) < 0) fail("read");
}
