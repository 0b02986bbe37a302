// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "zoo.h"

KIND(child) { waitpid(child(child_is_ready), NULL, 0); }
KIND(any_child) {
    siginfo_t information;
    child(child_is_ready);
    waitid(P_ALL, 0, &information, WEXITED);
}

KIND(main_thread_ends) {
    start(sleep_for_ever, NULL, "survivor");
    pthread_exit(NULL);
}

KIND(stopped_child) {
    pid_t other = child(child_is_ready);
    kill(other, SIGSTOP);
    waitpid(other, NULL, 0);
}
// A child in a frozen cgroup of its own: of the freezer of version 1, or below its own one of version 2.
static void write_to(const char *folder, const char *name, const char *text) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) fail("no freezer");
}
static void freeze(pid_t process, const char *folder, const char *name, const char *value) {
    char number[32];
    snprintf(number, sizeof number, "%d", process);
    if (mkdir(folder, 0700) != 0) fail("no freezer");
    write_to(folder, "cgroup.procs", number);
    write_to(folder, name, value);
}
KIND(frozen_child) {
    char folder[256];
    pid_t other = child(child_is_ready);
    snprintf(folder, sizeof folder, "/sys/fs/cgroup/freezer/watchdogd-zoo-%s", getenv("ZOO_ID"));
    freeze(other, folder, "freezer.state", "FROZEN");
    waitpid(other, NULL, 0);
}
KIND(frozen_child_of_unified) {
    char line[256], folder[512] = "";
    FILE *own = fopen("/proc/self/cgroup", "r");
    const char *root = access("/sys/fs/cgroup/unified", F_OK) == 0 ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
    while (own != NULL && fgets(line, sizeof line, own) != NULL)
        if (sscanf(line, "0::%255s", line) == 1) snprintf(folder, sizeof folder, "%s%s/frozen", root, line);
    if (folder[0] == 0) fail("no freezer");
    pid_t other = child(child_is_ready);
    freeze(other, folder, "cgroup.freeze", "1");
    waitpid(other, NULL, 0);
}
static void compute(void) {
    child_is_ready();
    for (;;) sink++;
}
KIND(computing_child) { waitpid(child(compute), NULL, 0); }

// The main thread waits for a worker that computes, or that waits for data.
static void *compute_for_ever(void *unused) {
    (void)unused;
    for (;;) sink++;
    return NULL;
}
KIND(join_computing) { pthread_join(start(compute_for_ever, NULL, "cruncher"), NULL); }
KIND(condition_of_computing) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    start(compute_for_ever, NULL, "cruncher");
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&condition, &mutex);
}
// Queries a name server on the loopback interface that never answers.
static void *look_up(void *unused) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct addrinfo *found;
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_DGRAM, 0);
    (void)unused;
    if (bind(server, (void *)&address, length) != 0 || res_init() != 0) fail("bind");
    getsockname(server, (void *)&address, &length);
    _res.nscount = 1;
    _res.nsaddr_list[0] = address;
    for (;;) getaddrinfo("feed.example.com", "443", NULL, &found);
}
KIND(lookup_in_thread) {
    static sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    start(look_up, NULL, "resolver");
    sem_wait(&semaphore);
}
static void *read_for_ever(void *unused) {
    int ends[2];
    char byte;
    (void)unused;
    if (pipe(ends) != 0) fail("pipe");
    if (read(ends[0], &byte, 1) < 0) fail("read");
    return NULL;
}
KIND(join_reading) { pthread_join(start(read_for_ever, NULL, "reader"), NULL); }
KIND(system_command) {
    if (system("exec sleep 1000") < 0) fail("system");
}
KIND(command_output) {
    char byte;
    FILE *command = popen("exec sleep 1000", "r");
    if (command == NULL || fread(&byte, 1, 1, command) != 1) fail("popen");
}
// It starts one short program after the other, and sleeps uninterruptibly until each has begun.
KIND(spawning) {
    char *const command[] = {"true", NULL};
    for (;;) {
        pid_t child;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, command, environ) != 0) fail("posix_spawn");
        waitpid(child, NULL, 0);
    }
}
// The parent of vfork sleeps uninterruptibly until its child executes a program.
KIND(vfork_parent) {
    if (vfork() == 0) {
        // Only system calls, because the memory is the parent's.
        for (;;) {
            struct timespec time = {1000, 0};
            syscall(SYS_nanosleep, &time, NULL);
        }
    }
}
KIND(spawn_fifo) {
    posix_spawn_file_actions_t actions;
    char *const command[] = {"true", NULL};
    pid_t child;
    mkfifo("spawn.fifo", 0600);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "spawn.fifo", O_RDONLY, 0);
    if (posix_spawn(&child, "/bin/true", &actions, NULL, command, environ) != 0) fail("posix_spawn");
}
KIND(vforking) {
    for (;;) {
        pid_t child = vfork();
        if (child == 0) {
            usleep(20000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}
