/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that ends in the way that its first argument names.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    } else if (strcmp(how, "pause") == 0) {
        pause();
    } else if (strcmp(how, "abort-at-end") == 0) {
        signal(SIGTERM, on_terminate);
        for (;;) pause();
    }
    return 0;
}
