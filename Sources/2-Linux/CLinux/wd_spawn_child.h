/* SPDX-License-Identifier: Apache-2.0
 *
 * The two processes without libc: the launcher, and the child between clone and execve.
 *
 * Both run in a copy of a process that may have had threads: a lock of libc may be held forever, so they make only raw
 * system calls. A test checks that their object files have no undefined symbols except each other's; the attributes
 * below keep sanitizers and the compiler from adding any.
 */
#pragma once
#include <stddef.h>
#include <sys/socket.h>

#include "wd_launcher.h"
#include "wd_raw_syscall.h"
#include "wd_spawn.h"

#if defined(__clang__)
#define WD_CHILD __attribute__((disable_sanitizer_instrumentation, no_builtin, no_stack_protector))
#else
#define WD_CHILD __attribute__((no_sanitize("address", "thread", "undefined"), optimize("no-tree-loop-distribute-patterns")))
#endif

#define CALL(number, a, b, c, d, e) \
    wd_raw_syscall6((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* Field by field: an initializer may become a call of memset(3), which the launcher has unmapped. */
WD_CHILD static inline void wd_prepare(struct msghdr *message, struct iovec *vector, void *control, size_t size) {
    message->msg_name = NULL;
    message->msg_namelen = 0;
    message->msg_iov = vector;
    message->msg_iovlen = 1;
    message->msg_control = control;
    message->msg_controllen = size;
    message->msg_flags = 0;
}

struct wd_scheduling {
    int policy;
    int niceness;
};

/* The kernel's struct rlimit; libc's may differ. */
struct wd_kernel_limit {
    uint64_t soft;
    uint64_t hard;
};

/* What programs inherit from the launcher. */
struct wd_launcher_attributes {
    struct wd_scheduling scheduling;
    struct wd_kernel_limit open_files;
    struct wd_kernel_limit real_time;
};

/* What the child of one launch starts with. */
struct wd_spawn_birth {
    const int *descriptors; /* in the order of arrival: the status socket, the file, the passed ones */
    uint64_t length;        /* of the file */
    bool in_pipe;           /* the file is a pipe */
    bool held;              /* waits before execve until the supervisor confirms it and lets it run */
    bool moves; /* created outside of the cgroup; must move there */
    struct wd_scheduling scheduling;
};

/* Runs the child until execve; never returns. */
__attribute__((visibility("hidden"))) void wd_spawn_child(const struct wd_spawn_birth *birth);

enum { WD_LAUNCHER_MAX_KEPT = 8 };

/* The memory that the launcher needs after the fork: only the file with its code. */
struct wd_launcher_memory {
    struct {
        uint64_t start, end;
        uint64_t offset; /* in the file */
        bool changed;    /* differs from the file; constants may lie between data, and data is not needed */
    } kept[WD_LAUNCHER_MAX_KEPT]; /* ascending */
    int kept_count;               /* 0: all memory is kept */
    int file;
    uint64_t page;
    /* The address that the kernel writes to after preempting the thread: rseq(2). 0: none. */
    uint64_t restartable_sequences;
};

struct wd_launcher_birth {
    int socket;
    bool precedence;
    struct wd_launcher_attributes attributes;
    struct wd_launcher_memory memory;
};

/* Runs the launcher; never returns. */
__attribute__((visibility("hidden"))) void wd_launcher_serve(const struct wd_launcher_birth *birth);
