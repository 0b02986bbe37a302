/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that crashes or exits in the way that its first argument names.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct header {
    int magic, length;
};

__attribute__((noinline)) int parse_header(const volatile struct header *header) {
    return header->length;
}

__attribute__((noinline)) int read_album(const volatile struct header *header) {
    return parse_header(header) + 1;
}

static void *import(void *argument) {
    pthread_setname_np(pthread_self(), "importer");
    return (void *)(long)read_album(argument);
}

__attribute__((noinline)) void check_invariants(int albums) {
    if (albums >= 0) abort();
    puts("never");
}

static void on_terminate(int signal) {
    (void)signal;
    check_invariants(0);
}

static volatile int depth;

__attribute__((noinline)) int resolve_other(int album);

__attribute__((noinline)) int resolve_album(int album) {
    depth++;
    return resolve_other(album + 1) + depth;
}

__attribute__((noinline)) int resolve_other(int album) {
    char name[300];
    snprintf(name, sizeof name, "%d of %d", album, depth);
    return resolve_album(album + name[0]) + depth;
}

__attribute__((noinline)) int descend(int level) {
    depth++;
    return descend(level + 1) + depth;
}

static void *resolve(void *unused) {
    return (void *)(long)(resolve_album(0) + (unused != NULL));
}

typedef void (*function)(void);
static volatile function visitor;
static char album[64];

__attribute__((noinline)) void visit(void) {
    visitor();
    depth++;
}

static void wait_in_handler(int signal) {
    (void)signal;
    for (;;) pause();
}

/* The restorer of a C library without call frame information for it, such as musl. */
void leave(void);
__asm__(".text\n.globl leave\n.type leave, @function\nleave:\n\tmov $15, %rax\n\tsyscall\n.size leave, . - leave\n");

/* The kernel's layout: struct sigaction of asm/signal.h. */
static void handle(int signal, unsigned long flags) {
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {wait_in_handler, flags | 0x04000000, leave, 0};
    syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof action.mask);
}

static void use_alternate_stack(void) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = wait_in_handler, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

__attribute__((noinline)) void notify_albums(void) {
    kill(getpid(), SIGUSR1);
    depth++;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    const char *value = count > 2 ? arguments[2] : "0";
    puts("opening the album");
    fflush(stdout);
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, import, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "abort") == 0) {
        check_invariants(count);
    } else if (strcmp(how, "exit") == 0) {
        exit(atoi(value));
    } else if (strcmp(how, "raise") == 0) {
        raise(atoi(value));
    } else if (strcmp(how, "overflow") == 0) {
        return descend(0);
    } else if (strcmp(how, "overflow-in-thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, resolve, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "jump") == 0) {
        visitor = strcmp(value, "data") == 0 ? (function)(void *)album : NULL;
        visit();
    } else if (strcmp(how, "handler") == 0) {
        use_alternate_stack();
        if (strcmp(value, "overflow") == 0) descend(0);
        notify_albums();
    } else if (strcmp(how, "restorer") == 0) {
        handle(SIGUSR1, 0);
        notify_albums();
    } else if (strcmp(how, "pause") == 0) {
        pause();
    } else if (strcmp(how, "abort-at-end") == 0) {
        signal(SIGTERM, on_terminate);
        for (;;) pause();
    }
    return 0;
}
