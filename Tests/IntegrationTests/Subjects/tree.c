/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with children: tree MODE [ARGUMENT...]
 *
 *   server SOCKET     a master that waits for signals, and two workers that take turns to accept, like those of nginx
 *                     and Apache: one has the lock and reads a request, the other one waits for the lock
 *   init COMMAND...   starts the command and waits for signals, like the first process of a container
 *   reaper COMMAND... the same with wait(2) for any child
 *   zombies COMMAND.. leaves twenty children unreaped, then starts the command and waits only for it
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2, ZOMBIES = 20 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static pid_t start(char **command) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child > 0) return child;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(command[0], command);
    fail(command[0]);
    return -1;
}

static void ignore(int signal) { (void)signal; }

static void block(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* A server. */

__attribute__((noinline)) static void lock_accept_mutex(int file) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_SETLKW, &whole) != 0) fail("fcntl");
}

__attribute__((noinline)) static void read_request(int connection) {
    char request[4096];
    if (read(connection, request, sizeof request) < 0) fail("read");
}

static void serve_connections(int listener, int file) {
    prctl(PR_SET_NAME, "waiter");
    lock_accept_mutex(file);
    prctl(PR_SET_NAME, "holder");
    for (;;) read_request(accept(listener, NULL, NULL));
}

__attribute__((noinline)) static void master_cycle(void) {
    sigset_t none;
    sigemptyset(&none);
    for (;;) sigsuspend(&none);
}

static void serve(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0) fail(path);
    if (listen(listener, 16) != 0) fail("listen");
    int file = open("accept.lock", O_RDWR | O_CREAT, 0600);
    if (file < 0) fail("accept.lock");
    signal(SIGCHLD, ignore);
    block(SIGCHLD);
    for (int i = 0; i < WORKERS; i++) {
        if (fork() == 0) serve_connections(listener, file);
    }
    master_cycle();
}

/* The first process of a container. */

__attribute__((noinline)) static void wait_for_signals(void) {
    sigset_t all;
    sigfillset(&all);
    for (;;) {
        siginfo_t signal;
        if (sigwaitinfo(&all, &signal) == SIGCHLD) {
            while (waitpid(-1, NULL, WNOHANG) > 0) {
            }
        }
    }
}

static void serve_signals(char **command) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    start(command);
    wait_for_signals();
}

__attribute__((noinline)) static void wait_for_children(void) {
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

__attribute__((noinline)) static void wait_for_program(pid_t program) { waitpid(program, NULL, 0); }

static void leave_zombies(char **command) {
    for (int i = 0; i < ZOMBIES; i++) {
        if (fork() == 0) _exit(0);
    }
    wait_for_program(start(command));
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    const char *mode = arguments[1];
    if (strcmp(mode, "server") == 0) {
        serve(arguments[2]);
    } else if (strcmp(mode, "init") == 0) {
        serve_signals(arguments + 2);
    } else if (strcmp(mode, "reaper") == 0) {
        start(arguments + 2);
        wait_for_children();
    } else if (strcmp(mode, "zombies") == 0) {
        leave_zombies(arguments + 2);
    } else {
        return 64;
    }
    return 0;
}
