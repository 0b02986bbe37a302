// SPDX-License-Identifier: Apache-2.0
//
// Programs that resist a capture: becomes the one that its first argument names, sends one sign of life, and hangs.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    _exit(3);
}

// sd_notify(3) by hand.
static void notify(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int out = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (path == NULL || strlen(path) >= sizeof address.sun_path) fail("NOTIFY_SOCKET");
    strcpy(address.sun_path, path);
    if (path[0] == '@') address.sun_path[0] = '\0';
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (sendto(out, text, strlen(text), 0, (struct sockaddr *)&address, length) < 0) fail("sendto");
    close(out);
}

__attribute__((noinline)) static void hang(void) {
    notify("READY=1\nWATCHDOG=1");
    for (;;) pause();
}

static pthread_barrier_t started;
static volatile int ends;

// Recurses until this many bytes of the stack are used.
__attribute__((noinline)) static void descend(long bytes) {
    volatile char block[1000];
    block[0] = (char)bytes;
    if (bytes > 0) {
        descend(bytes - 1040);
    } else {
        pthread_barrier_wait(&started);
        while (!ends) pause();
    }
    block[1] = block[0];
}

static void *run_deep(void *bytes) {
    descend((long)(intptr_t)bytes);
    return NULL;
}

static void start_threads(long count, long bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    pthread_barrier_init(&started, NULL, (unsigned)count + 1);
    for (long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run_deep, (void *)(intptr_t)bytes) != 0) fail("pthread_create");
    }
    pthread_barrier_wait(&started);
}

// Everything above this function's own frame, return addresses and all, becomes garbage.
__attribute__((noinline)) static void smash(void) {
    notify("READY=1\nWATCHDOG=1");
    uint64_t *slot = __builtin_frame_address(0);
    for (int i = 0; i < 40; i++) slot[i] = UINT64_C(0x4141414141414141);
    for (;;) pause();
}

// A function without a file: push rbp; mov rbp, rsp; call rdi; pop rbp; ret.
__attribute__((noinline)) static void run_generated(void) {
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    ((void (*)(void (*)(void)))page)(hang);
    puts("never");
}

// From here on, any other system call kills the process.
static void forbid_calls(void) {
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_pause), ALLOW(SYS_socket), ALLOW(SYS_sendto), ALLOW(SYS_close), ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof program / sizeof *program, program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) fail("seccomp");
}

// Neighbors with different permissions are not merged into one mapping.
static void map_much(long count) {
    void *large = mmap(NULL, (size_t)2 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (large == MAP_FAILED) fail("mmap");
    char *start = mmap(NULL, (size_t)count * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (long i = 0; i < count; i += 2)
        if (mprotect(start + i * 4096, 4096, PROT_NONE) != 0) break;
}

static void copy(const char *to) {
    struct stat status;
    int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (in < 0 || out < 0 || fstat(in, &status) != 0) fail(to);
    while (sendfile(out, in, NULL, (size_t)status.st_size) > 0) continue;
    close(in);
    close(out);
}

static void map_code(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) fail(path);
}

// Copies of this program in which every part is corrupted once, mapped as if they were libraries.
static void map_broken(void) {
    srand(7);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "broken-%d.so", i);
        copy(name);
        int file = open(name, O_RDWR | O_CLOEXEC);
        off_t size = lseek(file, 0, SEEK_END);
        for (int change = 0; change < 64; change++) {
            unsigned char byte = (unsigned char)rand();
            // The headers, which determine what is read where, are corrupted as often as all the rest.
            if (pwrite(file, &byte, 1, change % 2 ? rand() % size : 16 + rand() % 1000) != 1) fail(name);
        }
        close(file);
        map_code(name);
    }
}

static void map_strange_names(void) {
    static const char *const names[] = {
        "line\nbreak.so", "\033[2Jclear.so", "gone (deleted)", "7f0000000000-7f0000001000 r-xp 00000000 00:00 0", "\xff\xfe.so",
        "tab\there", "back\\slash\\012.so", " ",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        copy(names[i]);
        map_code(names[i]);
    }
    prctl(PR_SET_NAME, "x) R 1 (\n\033");
}

static void *wait_for_vfork(void *unused) {
    prctl(PR_SET_NAME, "vfork");
    if (vfork() == 0)
        for (;;) pause();
    return unused;
}

// A copy that exists only in this program's mount namespace, as process 1 of a PID namespace.
static void hide(void) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) fail("unshare");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) fail("mount");
    if (mkdir("hidden", 0755) != 0 || mount("none", "hidden", "tmpfs", 0, NULL) != 0) fail("tmpfs");
    copy("hidden/program");
    pid_t child = fork();
    if (child == 0) {
        execl("hidden/program", "hidden", "plain-silent", NULL);
        fail("exec");
    }
    usleep(200000);
    char text[64];
    snprintf(text, sizeof text, "MAINPID=%d\nREADY=1\nWATCHDOG=1", child);
    notify(text);
    for (;;) pause();
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    if (strcmp(how, "threads") == 0) start_threads(999, 12 << 10);
    else if (strcmp(how, "deep") == 0) {
        pthread_barrier_init(&started, NULL, 1);
        notify("READY=1\nWATCHDOG=1");
        descend(1 << 20);
    } else if (strcmp(how, "smashed") == 0) smash();
    else if (strcmp(how, "generated") == 0) run_generated();
    else if (strcmp(how, "seccomp") == 0) forbid_calls();
    else if (strcmp(how, "mappings") == 0) map_much(60000);
    else if (strcmp(how, "broken") == 0) map_broken();
    else if (strcmp(how, "names") == 0) map_strange_names();
    else if (strcmp(how, "hidden") == 0) hide();
    else if (strcmp(how, "vfork") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, wait_for_vfork, NULL);
        usleep(100000);
    } else if (strcmp(how, "deleted") == 0) unlink(arguments[0]);
    else if (strcmp(how, "replaced") == 0) {
        copy("new");
        if (truncate("new", 5000) != 0 || rename("new", arguments[0]) != 0) fail("rename");
    } else if (strcmp(how, "plain-silent") == 0)
        for (;;) pause();
    hang();
}
