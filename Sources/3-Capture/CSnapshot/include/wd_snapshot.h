/* SPDX-License-Identifier: Apache-2.0
 *
 * Stage 1: copies the raw data of a process's stacks, then releases or kills it. Before a kill, all threads are
 * stopped at one instant. A process that continues must not be disturbed: its sleeping threads are read from
 * outside.
 *
 * No function here exits, aborts, logs or allocates in proportion to the target; every byte from the target is bounded.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Working memory of one capture at a time: about 65 MiB of address space, of which only touched pages are resident. */
struct wd_snapshot_arena;

/* Maps an arena and makes `resident` bytes of its stack area (and the start of each table) resident, so that a later
 * capture causes no page faults while the target is frozen. Returns NULL with errno set. */
struct wd_snapshot_arena *wd_snapshot_arena_create(size_t resident);
void wd_snapshot_arena_destroy(struct wd_snapshot_arena *arena);

enum wd_snapshot_method {
    WD_METHOD_PTRACE = 0,           /* all threads stopped at one instant */
    WD_METHOD_PROCFS_REGISTERS = 1, /* blocked threads from /proc/PID/task/TID/syscall, without stopping them */
    WD_METHOD_PROCFS = 2,           /* no stacks */
};

enum wd_snapshot_end {
    WD_END_RELEASE = 0, /* the process continues as before; a group-stopped one stays stopped */
    WD_END_KILL = 1,    /* SIGKILL while still frozen */
};

/* No read asks for more bytes or ranges. */
enum { WD_MEMORY_BYTES = 64 << 10, WD_MEMORY_RANGES = 512 };

/* A reader that copies memory of the process on behalf of the calling thread, because a page fault may never return. */
struct wd_memory_reader {
    /* Like process_vm_readv(2) into `buffer`, or, unless `file` is -1, like reads from that open /proc/PID/mem; -1
     * with errno. EPERM or ENOSYS: only a file can be read. ETIMEDOUT: a page fault did not return in time. EBUSY:
     * no reader is available. NULL: the calling thread itself reads. */
    ssize_t (*read)(void *context, pid_t process, int file, const struct iovec *ranges, size_t count, void *buffer);
    void *context;
    /* 1: read only resident pages, because earlier reads have not returned. */
    uint32_t only_resident;
};

struct wd_snapshot_request {
    struct wd_snapshot_arena *arena;
    int32_t pid;
    int32_t pidfd;            /* refers to pid; -1: opened and closed here */
    uint64_t start_time;      /* /proc/PID/stat field 22; 0: not compared */
    uint32_t method;          /* enum wd_snapshot_method: the best one to try */
    uint32_t end;             /* enum wd_snapshot_end */
    uint32_t stop_running;    /* WD_METHOD_PROCFS_REGISTERS: 1: stop threads on a CPU briefly, one at a time */
    uint32_t glance;          /* WD_METHOD_PROCFS_REGISTERS: 1: threads on a CPU are read by perf_event_open(2), if permitted */
    int32_t cgroup_kill;      /* WD_END_KILL: "1" is written to this descriptor of a cgroup.kill file; -1: none */
    int32_t process_group;    /* WD_END_KILL: this process group is killed too; 0: none */
    uint32_t stop_timeout_us; /* how long to wait for threads to stop; 0: 100 ms. WD_END_KILL: 400 ms more for threads
                                 that could run, but get no CPU */
    uint32_t module_capacity; /* elements of module_fds; at most WD_SNAPSHOT_MAX_MODULES */
    int32_t *module_fds;      /* receives descriptors (O_RDONLY, O_CLOEXEC) of the mapped executables */
    struct wd_memory_reader reader;
    /* WD_END_KILL: called once before the kill, when the process is stopped and its memory is copied, or could not
     * be copied; NULL: not called. It must return in bounded time. */
    void (*before_kill)(void *context);
    void *before_kill_context;
};

/* CLOCK_MONOTONIC nanoseconds; 0: not reached. In order of time. */
struct wd_snapshot_times {
    uint64_t began;
    uint64_t facts_read;   /* /proc read, mappings parsed, files pinned: no thread is stopped before */
    uint64_t first_stop;   /* first stop requested */
    uint64_t all_stopped;  /* or the wait timed out */
    uint64_t stacks_read;  /* registers and stacks copied */
    uint64_t memory_read;  /* all of the target's memory copied */
    uint64_t ended;        /* last thread released, or SIGKILL sent */
    uint64_t written;      /* threads and stacks are in the memfd */
    uint64_t reaped;       /* last traced thread gone; 0 if released */
    uint64_t finished;
};

struct wd_snapshot_result {
    int32_t error;       /* errno of the failure that prevented the snapshot; 0: memfd is valid */
    int32_t kill_error;  /* errno of pidfd_send_signal(2); 0 if it succeeded or was not requested */
    uint8_t killed;      /* SIGKILL was sent, with or without a snapshot */
    uint8_t reserved[3];
    uint32_t method;     /* enum wd_snapshot_method: the one used */
    int32_t memfd;       /* sealed, positioned at 0; -1 on error */
    uint32_t module_count;   /* module_fds[0 ..< module_count] are open and belong to the caller, error or not */
    uint32_t thread_count;
    uint32_t stack_bytes;
    uint32_t lingering;      /* threads still traced by the calling thread, see below */
    uint32_t brief_stops;    /* threads on a CPU that were stopped one at a time */
    uint64_t longest_stop_ns; /* upper bound of the longest of these */
    struct wd_snapshot_times times;
    char operation[64]; /* what failed if error != 0 */
    char reason[256];   /* why not a better method; empty for WD_METHOD_PTRACE */
};

/* A memfd for the records of wd_snapshot_format.h, close-on-exec; -1 with errno set. */
int wd_create_memfd(void);
/* Rewinds the file and seals it against every change. Returns 0 or an errno. */
int wd_seal_memfd(int memfd);

/* Takes a snapshot of request->pid, then releases or kills it as requested. Returns result->error.
 *
 * WD_END_KILL kills whether or not a snapshot was possible, unless start_time differs or pid is this process. If the
 * kill fails, the process is released. The call returns within the stop timeout, two waits of the reader, and some
 * milliseconds, not counting before_kill, or a read of /proc or, without a reader, of the target's memory that
 * blocks in the kernel.
 *
 * ptrace(2) is bound to the calling thread. ptrace cannot detach from a thread of the target that sleeps
 * uninterruptibly: result->lingering counts such threads. The calling thread must then exit soon, without blocking
 * before; its exit detaches them, unharmed.
 *
 * If the target is a child of the calling process, the exit status of its thread-group leader is never consumed: any
 * thread can still get it with waitid(2). Otherwise this waits for the leader too, because the kernel notifies the
 * real parent only after the tracer. It waits by thread id, and only for WSTOPPED and exits of traced threads.
 *
 * While a child of this process is stopped, waitid(2) in any thread of this process may return it with CLD_TRAPPED,
 * even with WEXITED alone: the kernel reports ptrace stops to every thread of the tracer's process, whatever the
 * options. Such a result means nothing, and consuming it does no harm.
 *
 * Call from one thread per arena. Block signals in the calling thread. */
int wd_snapshot_take(const struct wd_snapshot_request *request, struct wd_snapshot_result *result);
