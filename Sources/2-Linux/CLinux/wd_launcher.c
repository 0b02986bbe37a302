/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's side of the launcher.
 */
#include "wd_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wd_spawn_child.h"

/* What watchdogd changes for itself and programs must not inherit. */
static struct wd_launcher_attributes original;

static struct wd_kernel_limit limit(int resource) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    getrlimit((__rlimit_resource_t)resource, &limit);
    return (struct wd_kernel_limit){limit.rlim_cur, limit.rlim_max};
}

static void note_original(void) {
    original.scheduling.policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    original.scheduling.niceness = getpriority(PRIO_PROCESS, 0);
    original.open_files = limit(RLIMIT_NOFILE);
    original.real_time = limit(RLIMIT_RTTIME);
}

/* Defined in glibc 2.35 and later. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

static int note_segments(struct dl_phdr_info *object, size_t size, void *opaque) {
    (void)size;
    struct wd_launcher_memory *memory = opaque;
    uint64_t code = (uint64_t)(uintptr_t)wd_launcher_serve;
    uint64_t mask = ~(memory->page - 1);
    bool has_code = false;
    memory->kept_count = 0;
    for (int i = 0; i < object->dlpi_phnum && memory->kept_count < WD_LAUNCHER_MAX_KEPT; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD) continue;
        uint64_t start = object->dlpi_addr + segment->p_vaddr;
        uint64_t end = start + segment->p_filesz;
        has_code = has_code || (start <= code && code < end);
        int index = memory->kept_count++;
        memory->kept[index].start = start & mask;
        memory->kept[index].end = (end + memory->page - 1) & mask;
        memory->kept[index].offset = segment->p_offset & mask;
        memory->kept[index].changed = (segment->p_flags & PF_W) != 0;
    }
    if (!has_code) return 0;
    memory->file = open(object->dlpi_name[0] == 0 ? "/proc/self/exe" : object->dlpi_name, O_RDONLY | O_CLOEXEC);
    return 1;
}

/* An object's segments are in ascending order: elf(5). */
static void note_memory(struct wd_launcher_memory *memory) {
    memory->page = (uint64_t)sysconf(_SC_PAGESIZE);
    memory->file = -1;
    dl_iterate_phdr(note_segments, memory);
    if (memory->file < 0) memory->kept_count = 0;
    memory->restartable_sequences = 0;
    if (&__rseq_size != NULL && __rseq_size > 0)
        memory->restartable_sequences = (uint64_t)(uintptr_t)__builtin_thread_pointer() + (uint64_t)__rseq_offset;
}

static int64_t clock_lead;

void wd_launcher_lead_clocks(int64_t seconds) { clock_lead = seconds; }

/* time_namespaces(7): what this process clones next is the first in the namespace, whose offsets are fixed by then. */
static int32_t lead_clocks(int64_t seconds) {
    char text[96];
    int length = snprintf(text, sizeof text, "monotonic %lld 0\nboottime %lld 0\n", (long long)seconds,
                          (long long)seconds);
    if (unshare(CLONE_NEWTIME) < 0) return errno;
    int file = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (file < 0) return errno;
    int32_t error = write(file, text, (size_t)length) == length ? 0 : errno;
    close(file);
    return error;
}

int wd_launcher_start(bool precedence, pid_t *pid) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, note_original);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -1;

    struct wd_launcher_birth birth = {.socket = ends[1], .precedence = precedence, .attributes = original};
    note_memory(&birth.memory);
    int64_t lead = clock_lead;
    clock_lead = 0;
    /* Every signal, including those that glibc reserves for itself and that pthread_sigmask refuses to block. */
    uint64_t all = UINT64_MAX;
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof mask);
    /* Not fork(3), which would run pthread_atfork(3) handlers in a process that must not run such code. The launcher's
     * children inherit the exit signal. */
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        if (lead != 0) {
            int32_t answer = lead_clocks(lead);
            send(ends[1], &answer, sizeof answer, MSG_NOSIGNAL);
            if (answer != 0) _exit(71);
        }
        wd_launcher_serve(&birth);
    }
    int error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    close(ends[1]);
    if (birth.memory.file >= 0) close(birth.memory.file);
    if (child > 0 && lead != 0) {
        int32_t answer = EPIPE;
        ssize_t length;
        do length = recv(ends[0], &answer, sizeof answer, 0);
        while (length < 0 && errno == EINTR);
        if (length != sizeof answer || answer != 0) {
            if (length == sizeof answer) waitpid((pid_t)child, NULL, 0);
            else if (kill((pid_t)child, SIGKILL) == 0) waitpid((pid_t)child, NULL, 0);
            child = -1;
            error = answer;
        }
    }
    if (child > 0) {
        *pid = (pid_t)child;
        return ends[0];
    }
    close(ends[0]);
    errno = error;
    return -1;
}

int wd_launcher_send(int launcher, const struct wd_launcher_request *request, const int *descriptors, size_t count) {
    if (count > WD_LAUNCHER_MAX_DESCRIPTORS) {
        errno = E2BIG;
        return -1;
    }
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(sizeof(int) * WD_LAUNCHER_MAX_DESCRIPTORS)];
    } control;
    struct iovec vector = {.iov_base = (void *)request, .iov_len = sizeof *request};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(rights), descriptors, sizeof(int) * count);
    ssize_t sent;
    do sent = sendmsg(launcher, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

int wd_launcher_status_pair(int ends[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends); }

int wd_launcher_take_answer(int status, struct wd_launcher_answer *answer, int *pidfd) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec vector = {answer, sizeof *answer};
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *pidfd = -1;
    ssize_t length;
    /* ECONNRESET, once: the child has failed before it read that it is confirmed. What it has sent comes after that. */
    do length = recvmsg(status, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (length < 0 && (errno == EINTR || errno == ECONNRESET));
    const struct cmsghdr *header = length < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(pidfd, CMSG_DATA(header), sizeof *pidfd);
    if (length == sizeof *answer) return 1;
    return length < 0 && errno == EAGAIN ? 0 : -1;
}

static void say(int status, enum wd_launcher_word word) {
    char byte = (char)word;
    while (send(status, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

void wd_launcher_confirm(int status) { say(status, WD_LAUNCHER_CONFIRMED); }
void wd_launcher_release(int status) { say(status, WD_LAUNCHER_RUN); }

void wd_launcher_take_outcome(int status, struct wd_spawn_outcome *outcome) {
    struct wd_spawn_outcome taken;
    ssize_t length;
    do {
        length = recv(status, &taken, sizeof taken, MSG_DONTWAIT);
        if (length == sizeof taken) *outcome = taken;
        /* ECONNRESET, once: the child has failed before it took its leave to run. What it has sent comes after that. */
    } while (length > 0 || (length < 0 && (errno == EINTR || errno == ECONNRESET)));
}

int wd_launcher_pipe(const void *description, size_t length) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -1;
    ssize_t written = -1;
    if (length <= INT_MAX && fcntl(ends[1], F_SETPIPE_SZ, (int)length) >= 0) written = write(ends[1], description, length);
    /* The child waits for nothing: all that it reads is there. */
    if (written >= 0 && (size_t)written == length) {
        close(ends[1]);
        return ends[0];
    }
    int error = written < 0 ? errno : E2BIG;
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return -1;
}

int wd_launcher_file(void) {
    enum { NO_EXECUTE = 8 /* MFD_NOEXEC_SEAL: kernels before 6.3 reject it, and later ones warn if it is missing */ };
    int file = memfd_create("launch", MFD_CLOEXEC | NO_EXECUTE);
    return file < 0 && errno == EINVAL ? memfd_create("launch", MFD_CLOEXEC) : file;
}

void wd_protect_memory(void) { prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL); }
