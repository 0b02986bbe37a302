// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "zoo.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spinlock;

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

void pin(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
}
void compete(int nice_value) {
    if (fork() != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "competitor");
    setpriority(PRIO_PROCESS, 0, nice_value);
    for (;;) sink++;
}
// The test starts processes that compete for the first CPU.
KIND(starved) {
    pin();
    setpriority(PRIO_PROCESS, 0, 15);
    for (;;) sink++;
}
KIND(starved_by_children) {
    pin();
    for (int i = 0; i < 4; i++) compete(0);
    setpriority(PRIO_PROCESS, 0, 15);
    for (;;) sink++;
}
KIND(throttled) {
    // Versions 1 and 2 of cgroups; this process's cgroup is the parent of the group.
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

// Endless work of many kinds.
KIND(spin_copying) {
    static char from[1 << 22], to[1 << 22];
    for (;;) {
        memcpy(to, from, sizeof to);
        sink += (unsigned long)to[sink % sizeof to];
    }
}
static int compare(const void *left, const void *right) {
    unsigned one = *(const unsigned *)left, other = *(const unsigned *)right;
    return (one > other) - (one < other);
}
KIND(spin_sorting) {
    static unsigned numbers[1 << 16];
    for (;;) {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) numbers[i] = (unsigned)(i * 2654435761u);
        qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
        sink += numbers[0];
    }
}
KIND(spin_allocating) {
    for (;;) {
        void *block = malloc(1 + sink % 4096);
        sink += (unsigned long)block & 0xff;
        free(block);
    }
}
KIND(spin_formatting) {
    char text[64];
    for (;;) sink += (unsigned long)snprintf(text, sizeof text, "%f %lu", (double)sink, sink);
}
KIND(spin_writing) {
    int file = open("/dev/null", O_WRONLY);
    for (;;)
        if (write(file, "!", 1) == 1) sink++;
}
KIND(spin_reading) {
    static char block[1 << 16];
    int file = open("/dev/zero", O_RDONLY);
    for (;;) sink += (unsigned long)read(file, block, sizeof block);
}
KIND(spin_mapping) {
    for (;;) {
        char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        page[0] = 1;
        munmap(page, 1 << 16);
        sink++;
    }
}
KIND(spin_clock) {
    struct timespec now;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        sink += (unsigned long)now.tv_nsec;
    }
}
static void count_signal(int signal) { sink += (unsigned long)signal; }
KIND(spin_signals) {
    signal(SIGUSR2, count_signal);
    for (;;) raise(SIGUSR2);
}
KIND(spin_atomic) {
    static _Atomic int flag;
    while (!flag) sink++;
}
// Polls for data that never arrives.
KIND(spin_polling) {
    int ends[2];
    char byte;
    if (pipe2(ends, O_NONBLOCK) != 0) fail("pipe");
    while (read(ends[0], &byte, 1) < 0) sink++;
}
static void *compute_too(void *unused) {
    (void)unused;
    for (;;) sink++;
    return NULL;
}
// The program's own threads take the CPU that its main thread needs.
KIND(starved_by_itself) {
    pin();
    setpriority(PRIO_PROCESS, 0, 19);
    for (int i = 0; i < 4; i++) start(compute_too, NULL, "worker");
    for (;;) sink++;
}
KIND(spin_forking) {
    for (;;) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
}
