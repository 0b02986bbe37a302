/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a capture: data that the kill destroys or a freeze falsifies comes first, data that survives comes
 * last.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Beyond these limits, thousands of threads would delay the kill for data that nobody reads. They are CPU time: on a
   busy machine, waiting for a CPU must not cost the facts of a few threads. */
static const uint64_t full_facts_budget = 10000000;
static const uint64_t facts_budget = 30000000;
static const uint64_t facts_patience = 1000000000;
static const uint64_t reap_budget = 50000000;
/* For each runtime that is looked for. */
static const uint64_t find_budget = 20000000;

/* ENOENT from /proc means that the process is gone. */
static int fail(struct wd_snapshot_arena *arena, int error, const char *operation) {
    struct wd_snapshot_result *result = arena->result;
    if (error == ENOENT) error = ESRCH;
    if (result->error == 0) {
        result->error = error;
        snprintf(result->operation, sizeof result->operation, "%s", operation);
    }
    return error;
}

__attribute__((format(printf, 2, 3))) static void give_reason(struct wd_snapshot_arena *arena, const char *format,
                                                              ...) {
    char *reason = arena->result->reason;
    size_t used = strlen(reason), size = sizeof arena->result->reason;
    if (used > 0 && used + 2 < size) used += (size_t)snprintf(reason + used, size - used, "; ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason + used, size - used, format, arguments);
    va_end(arguments);
}

static void reset(struct wd_snapshot_arena *arena, const struct wd_snapshot_request *request,
                  struct wd_snapshot_result *result) {
    memset(result, 0, sizeof *result);
    result->memfd = -1;
    result->method = WD_METHOD_PROCFS;
    result->times.began = wd_now();
    size_t resident = arena->resident;
    uint32_t epoch = arena->candidate_epoch;
    memset(arena, 0, offsetof(struct wd_snapshot_arena, scratch));
    arena->resident = resident;
    arena->candidate_epoch = epoch;
    arena->request = request;
    arena->result = result;
    arena->pid = request->pid;
    arena->pidfd = request->pidfd;
    arena->process_directory = arena->task_directory = -1;
    arena->root_directory = arena->mount_namespace = arena->executable_pin = -1;
    arena->perf_map_descriptor = UINT32_MAX;
    arena->only_resident = request->reader.only_resident != 0;
}

static int check_request(struct wd_snapshot_arena *arena) {
    const struct wd_snapshot_request *request = arena->request;
    arena->mistaken = arena->pid <= 0 || arena->pid == getpid() || (arena->pid == 1 && request->end == WD_END_KILL);
    return arena->mistaken ? fail(arena, EINVAL, "take a snapshot") : 0;
}

/* A pidfd that is open while /proc/PID is opened, and alive afterwards, ties the directory to the same process. */
static int open_process(struct wd_snapshot_arena *arena) {
    if (arena->pidfd < 0) {
        arena->pidfd = (int)syscall(SYS_pidfd_open, arena->pid, 0);
        if (arena->pidfd < 0) return fail(arena, errno, "open the pidfd");
        arena->owns_pidfd = true;
    }
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", arena->pid);
    arena->process_directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (arena->process_directory < 0) return fail(arena, errno, "open the /proc directory");
    arena->task_directory = openat(arena->process_directory, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (arena->task_directory < 0) return fail(arena, errno, "open the list of threads");
    if (syscall(SYS_pidfd_send_signal, arena->pidfd, 0, NULL, 0) != 0 && errno == ESRCH)
        return fail(arena, ESRCH, "take a snapshot");
    /* waitid(2) decides whether it is our child, not /proc: while a thread other than the first is in execve(2),
       /proc may show no parent. */
    siginfo_t info;
    arena->is_child = waitid(P_PID, (id_t)arena->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
    return 0;
}

static int read_facts(struct wd_snapshot_arena *arena) {
    bool added;
    int error = wd_list_threads(arena, &added);
    if (error == 0 && arena->thread_count == 0) error = ESRCH;
    if (error != 0) return fail(arena, error, "list the threads");
    uint64_t began = wd_now(), cpu_began = wd_cpu_now();
    for (size_t i = 0; i < arena->thread_count; i++) {
        uint64_t spent = wd_cpu_now() - cpu_began;
        if (spent > facts_budget || wd_now() - began > wd_patience(arena, facts_patience)) {
            wd_note_truncation(arena, "facts of too many threads");
            break;
        }
        if (wd_read_thread_facts(arena, &arena->slots[i], spent < full_facts_budget) != 0)
            arena->slots[i].thread.state = 'X';
    }
    uint64_t wanted = arena->request->start_time;
    if (wanted != 0 && arena->start_time != wanted) {
        arena->mistaken = true;
        return fail(arena, ESRCH, "confirm the start time");
    }
    error = wd_read_maps(arena);
    if (error == EACCES || error == EPERM) {
        give_reason(arena, "its memory may not be read");
        return 0;
    }
    if (error != 0) return fail(arena, error, "read the mappings");
    ssize_t length = readlinkat(arena->process_directory, "exe", arena->executable, sizeof arena->executable - 1);
    arena->executable[length < 0 ? 0 : length] = '\0';
    wd_pin_modules(arena);
    wd_begin_paged(arena, find_budget);
    wd_find_interpreter(arena);
    wd_find_goroutines(arena);
    wd_begin_paged(arena, find_budget);
    wd_find_java(arena);
    wd_begin_paged(arena, find_budget);
    wd_find_v8(arena);
    wd_read_vdso(arena);
    return 0;
}

static void explain_refusal(struct wd_snapshot_arena *arena) {
    char scope[8];
    if (arena->uid != geteuid()) {
        give_reason(arena, "tracing is not permitted (EPERM): it runs as user %u, not %u", arena->uid, geteuid());
    } else if (wd_read_at(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) > 0 && scope[0] > '1') {
        give_reason(arena, "tracing is not permitted (EPERM): Yama's ptrace_scope is %c", scope[0]);
    } else {
        give_reason(arena, "tracing is not permitted (EPERM): it is set-user-id, has more capabilities, or has made "
                           "itself non-dumpable");
    }
}

static void explain_late_stop(struct wd_snapshot_arena *arena) {
    char state = wd_thread_state(arena, arena->pid);
    const struct wd_slot *main_thread = wd_find_thread(arena, arena->pid);
    bool has_run = main_thread != NULL && wd_has_run(arena, &main_thread->thread);
    if (state == 'D') give_reason(arena, "no thread stopped in time: the main thread is in uninterruptible sleep");
    else if (state == 'R' && has_run) give_reason(arena, "no thread stopped in time: the main thread runs in the kernel");
    else if (state == 'R') give_reason(arena, "no thread stopped in time: the main thread got no CPU");
    else give_reason(arena, "no thread stopped in time: the main thread is in state %c", state);
}

static void explain_brief_stops(struct wd_snapshot_arena *arena) {
    give_reason(arena, "it runs on");
    if (arena->seize_error == EPERM && arena->tracer != 0) give_reason(arena, "process %d is tracing it", arena->tracer);
    else if (arena->seize_error == EPERM) explain_refusal(arena);
    else if (arena->seize_error != 0) give_reason(arena, "tracing failed: %s", strerrorname_np(arena->seize_error));
}

static void explain_missing_stop(struct wd_snapshot_arena *arena) {
    if (arena->request->method != WD_METHOD_PTRACE) {
        if (arena->request->stop_running) explain_brief_stops(arena);
        else give_reason(arena, "that was asked for");
    } else if (arena->tracer != 0) {
        give_reason(arena, "process %d is tracing it", arena->tracer);
    } else if (arena->foreign_registers > 0) {
        give_reason(arena, "its threads are not 64-bit");
    } else if (arena->seize_error == EPERM) {
        explain_refusal(arena);
    } else if (arena->seize_error != 0) {
        give_reason(arena, "tracing failed: %s", strerrorname_np(arena->seize_error));
    } else if (arena->not_stopped > 0) {
        explain_late_stop(arena);
    } else {
        give_reason(arena, "no thread was left to stop");
    }
}

/* Reads the stacks of threads that are not stopped. */
static void read_blocked_threads(struct wd_snapshot_arena *arena) {
    size_t cap = wd_stack_cap(arena->thread_count);
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (slot->thread.register_source == WD_REGISTERS_PTRACE || slot->trace == WD_GONE) continue;
        wd_read_unstopped_stack(arena, slot, cap);
    }
}

/* Reads one thread of a process that must not be disturbed. The thread may fall asleep or wake up at any time: the
   other method is tried then. */
static void read_undisturbed(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, uint64_t deadline) {
    struct wd_thread *thread = &slot->thread;
    char before[sizeof thread->syscall_text];
    memcpy(before, thread->syscall_text, sizeof before);
    for (int round = 0; round < 3; round++) {
        wd_read_unstopped_stack(arena, slot, cap);
        if (thread->register_source != WD_REGISTERS_NONE) break;
        if (arena->request->glance && wd_now() < deadline && strncmp(thread->syscall_text, "running", 7) == 0 &&
            wd_glance_at_running(arena, slot, cap))
            break;
        if (!arena->request->stop_running || arena->seize_error != 0 || wd_now() >= deadline) break;
        uint64_t stopped;
        int error = wd_look_at_running(arena, slot, cap, deadline, &stopped);
        if (thread->register_source == WD_REGISTERS_PTRACE) {
            snprintf(thread->syscall_text, sizeof thread->syscall_text, "running");
            thread->state = 'R';
            thread->wait_channel[0] = thread->kernel_stack[0] = '\0';
        }
        if (error != EAGAIN) break;
    }
    if (thread->register_source != WD_REGISTERS_SYSCALL_FILE || strcmp(before, thread->syscall_text) == 0) return;
    thread->kernel_stack[0] = '\0'; /* it belongs to an earlier call */
    wd_read_wait(arena, thread);
}

static void read_all_undisturbed(struct wd_snapshot_arena *arena) {
    size_t cap = wd_stack_cap(arena->thread_count);
    uint64_t deadline = wd_now() + wd_stop_timeout(arena);
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (slot->thread.state != 'Z' && slot->thread.state != 'X') read_undisturbed(arena, slot, cap, deadline);
    }
    wd_release_stopped(arena, wd_now() + wd_stop_timeout(arena));
    if (wd_may_run_swift_tasks(arena)) wd_read_contexts(arena);
    wd_find_python_lock_holder(arena);
    wd_read_goroutines(arena);
    wd_read_java_stacks(arena);
    wd_read_v8_stacks(arena);
}

static void freeze_and_read(struct wd_snapshot_arena *arena) {
    bool contexts = wd_may_run_swift_tasks(arena), stopped = false;
    arena->result->times.facts_read = wd_now();
    wd_freeze(arena);
    for (size_t i = 0; i < arena->thread_count; i++)
        if (arena->slots[i].thread.register_source == WD_REGISTERS_PTRACE) stopped = true;
    wd_read_stacks(arena);
    arena->result->times.stacks_read = wd_now();
    if (contexts && stopped) wd_read_contexts(arena);
    if (stopped) wd_read_python_stacks(arena);
    read_blocked_threads(arena);
    wd_read_goroutines(arena);
    wd_read_java_stacks(arena);
    wd_read_v8_stacks(arena);
}

static void read_memory(struct wd_snapshot_arena *arena) {
    struct wd_snapshot_result *result = arena->result;
    bool freezes = arena->request->method == WD_METHOD_PTRACE, stopped = false, read = false;
    result->times.facts_read = wd_now();
    if (freezes) freeze_and_read(arena);
    else if (arena->request->method == WD_METHOD_PROCFS_REGISTERS) read_all_undisturbed(arena);
    for (size_t i = 0; i < arena->thread_count; i++) {
        uint8_t source = arena->slots[i].thread.register_source;
        if (source != WD_REGISTERS_NONE) read = true;
        if (source == WD_REGISTERS_PTRACE && freezes) stopped = true;
    }
    result->times.memory_read = wd_now();
    result->method = stopped ? WD_METHOD_PTRACE : read ? WD_METHOD_PROCFS_REGISTERS : WD_METHOD_PROCFS;
    if (!stopped) explain_missing_stop(arena);
    if (result->method == WD_METHOD_PROCFS && arena->request->method != WD_METHOD_PROCFS)
        give_reason(arena, "no thread shows where it is blocked");
    if (stopped && arena->not_stopped > 0) {
        char note[64];
        snprintf(note, sizeof note, "%u threads did not stop in time", arena->not_stopped);
        wd_note_truncation(arena, note);
    }
    if (stopped) result->reason[0] = '\0';
}

static void end(struct wd_snapshot_arena *arena) {
    const struct wd_snapshot_request *request = arena->request;
    if (request->end == WD_END_KILL) {
        if (request->before_kill != NULL) request->before_kill(request->before_kill_context);
        wd_kill(arena);
    }
    if (!arena->result->killed) wd_release(arena);
    arena->result->times.ended = wd_now();
}

static void write_result(struct wd_snapshot_arena *arena) {
    struct wd_snapshot_result *result = arena->result;
    int memfd = wd_create_memfd();
    int error = memfd < 0 ? errno : 0;
    if (error == 0) error = wd_write_memory(arena, memfd);
    result->times.written = wd_now();
    if (result->killed) {
        wd_reap(arena, wd_now() + reap_budget);
        result->times.reaped = wd_now();
    }
    if (error == 0) {
        wd_open_modules(arena);
        error = wd_write_modules(arena, memfd);
    }
    if (error == 0) error = wd_seal_memfd(memfd);
    if (error != 0) {
        fail(arena, error, "write the snapshot");
        if (memfd >= 0) close(memfd);
        return;
    }
    result->memfd = memfd;
    for (size_t i = 0; i < arena->thread_count; i++) result->stack_bytes += arena->slots[i].stack_length;
    result->thread_count = (uint32_t)arena->thread_count;
}

/* Discards all copies: they are confidential to the target. */
static void forget(struct wd_snapshot_arena *arena) {
    size_t used = arena->stacks_used, resident = arena->resident & ~(size_t)4095;
    if (used > resident) madvise(arena->stacks + resident, WD_STACKS_CAPACITY - resident, MADV_DONTNEED);
    explicit_bzero(arena->stacks, used < resident ? used : resident);
    explicit_bzero(arena->python_bytes, arena->interpreter.bytes_used);
    explicit_bzero(arena->java_bytes, arena->java.bytes_used);
    explicit_bzero(arena->v8_bytes, arena->v8.bytes_used);
    explicit_bzero(arena->pages, sizeof arena->pages);
    explicit_bzero(arena->scratch, sizeof arena->scratch);
    explicit_bzero(arena->java.blob, sizeof arena->java.blob);
    for (size_t i = 0; i < arena->thread_count; i++)
        explicit_bzero(arena->slots[i].thread.registers, sizeof arena->slots[i].thread.registers);
}

/* Opens the process and reads everything that does not need a stop. Returns 0 or an errno; close the capture in both
   cases. */
int wd_open_capture(struct wd_snapshot_arena *arena, const struct wd_snapshot_request *request,
                    struct wd_snapshot_result *result) {
    reset(arena, request, result);
    int error = check_request(arena);
    if (error == 0) error = open_process(arena);
    return error == 0 ? read_facts(arena) : error;
}

void wd_write_capture(struct wd_snapshot_arena *arena) {
    write_result(arena);
}

void wd_close_capture(struct wd_snapshot_arena *arena) {
    wd_unpin_modules(arena);
    if (arena->task_directory >= 0) close(arena->task_directory);
    if (arena->process_directory >= 0) close(arena->process_directory);
    if (arena->owns_pidfd) close(arena->pidfd);
    forget(arena);
    arena->result->times.finished = wd_now();
}

int wd_snapshot_take(const struct wd_snapshot_request *request, struct wd_snapshot_result *result) {
    struct wd_snapshot_arena *arena = request->arena;
    /* Polls for stops sleep 10 µs; with the default timer slack of 50 µs, each would take 60 µs. */
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1);

    bool possible = wd_open_capture(arena, request, result) == 0;
    if (possible) read_memory(arena);
    if (possible || (request->end == WD_END_KILL && !arena->mistaken)) end(arena);
    if (possible) write_result(arena);

    wd_close_capture(arena);
    if (slack > 0) prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
    return result->error;
}
