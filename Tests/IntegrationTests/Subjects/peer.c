/* SPDX-License-Identifier: Apache-2.0
 *
 * An app on watchdogd's channel: peer MODE [ARGUMENT]
 *
 *   steady      answers every ping immediately
 *   late MS     answers every ping after MS milliseconds
 *   hang        answers until SIGUSR1
 *   futex FILE  hangs like that, on a futex word in FILE, so that a reader of the word reads the file
 *   stack FILE  hangs like that, with a stack pointer into FILE, so that a copier of the stack reads the file, but the
 *               thread itself does not
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static volatile sig_atomic_t must_hang;
/* FILE, opened at the start, because open(2) waits for a page that another process is reading. */
static int descriptor = -1;

static void note(int signal) {
    (void)signal;
    must_hang = 1;
}

static void pause_for(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

struct pages {
    char *start;
    size_t length;
};

/* Maps the file over unused pages. */
static void *replace(void *argument) {
    struct pages *pages = argument;
    pause_for(20);
    for (size_t offset = 0; offset < pages->length; offset += PAGE) {
        if (mmap(pages->start + offset, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) abort();
    }
    puts("replaced");
    fflush(stdout);
    for (;;) pause();
}

static void replace_beside(char *start, size_t length) {
    static struct pages pages;
    pages = (struct pages){start, length};
    pthread_t thread;
    if (pthread_create(&thread, NULL, replace, &pages) != 0) abort();
}

static char *memory(size_t length) {
    char *start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) abort();
    return start;
}

static void hang_on_futex(void) {
    char *page = memory(PAGE);
    replace_beside(page, PAGE);
    for (;;) syscall(SYS_futex, page + 64, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* pause(2) in a loop that needs no stack. A second thread would have its control block beside its stack, and the kernel
 * writes to that whenever the thread continues: rseq(2). */
static void hang_on_stack(void) {
    char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (page == MAP_FAILED) abort();
#if defined(__x86_64__)
    __asm__ volatile("mov %0, %%rsp\n1: mov %1, %%eax\n syscall\n jmp 1b" ::"r"(page + PAGE / 2), "i"(SYS_pause)
                     : "rax", "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_ppoll;
    register long first __asm__("x0") = 0;
    register long second __asm__("x1") = 0;
    register long third __asm__("x2") = 0;
    __asm__ volatile("mov sp, %0\n1: mov x0, #0\n svc #0\n b 1b" ::"r"(page + PAGE / 2), "r"(number), "r"(first),
                     "r"(second), "r"(third) : "memory");
#endif
}

static void say(int channel, const char *text) { send(channel, text, strlen(text), MSG_NOSIGNAL); }

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "steady";
    const char *number = getenv("WATCHDOG_CHANNEL");
    if (number == NULL) return 64;
    int channel = atoi(number);
    long delay = strcmp(mode, "late") == 0 && argc > 2 ? atol(argv[2]) : 0;
    if (argc > 2 && strcmp(mode, "late") != 0) descriptor = open(argv[2], O_RDONLY);
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGUSR1, &action, NULL);
    say(channel, "HELLO=1\nLIBRARY=peer");
    say(channel, "READY=1");
    while (!must_hang) {
        char message[512];
        ssize_t length = recv(channel, message, sizeof message - 1, 0);
        if (length == 0) return 0;
        if (length < 0) continue;
        message[length] = 0;
        char *ping = strstr(message, "PING=");
        if (strstr(message, "TERMINATE=1") != NULL) return 0;
        if (ping == NULL) continue;
        pause_for(delay);
        char answer[64];
        snprintf(answer, sizeof answer, "PONG=%llu", strtoull(ping + 5, NULL, 10));
        say(channel, answer);
    }
    if (strcmp(mode, "futex") == 0) hang_on_futex();
    if (strcmp(mode, "stack") == 0) hang_on_stack();
    for (;;) pause();
}
