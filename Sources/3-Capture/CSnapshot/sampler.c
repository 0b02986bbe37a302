/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

static const size_t sample_cap = (size_t)64 << 10;
static const size_t least_room = (size_t)8 << 10;
/* Longer than any thread on a CPU takes to stop. */
static const uint64_t stop_limit = 5000000;

/* How long a look waits for a thread whose stop is pending. */
static const uint64_t release_limit = 50000000;

enum { accounting_size = 64 };

/* The state of a thread between looks. */
struct track {
    char accounting[accounting_size];
    uint64_t first_run_ns, first_wait_ns, run_ns, wait_ns;
    uint64_t stopped_ns;
    uint32_t run;      /* index + 1 of its latest run */
    bool known, slept; /* slept: in a system call or fault at the latest look */
    char name[16];
};

struct wd_sampler {
    struct wd_snapshot_arena *arena;
    struct wd_sampling_request request;
    struct wd_snapshot_request snapshot;
    struct wd_snapshot_result result; /* until the sampling is finished */
    struct wd_sampling_totals totals;
    uint32_t stack_count;
    uint64_t hashes[WD_SAMPLER_MAX_STACKS];
    int32_t owners[WD_SAMPLER_MAX_STACKS];
    struct wd_slot stacks[WD_SAMPLER_MAX_STACKS];
    struct track tracks[WD_SNAPSHOT_MAX_THREADS];
};

struct wd_sampler *wd_sampler_begin(const struct wd_sampling_request *request, struct wd_snapshot_result *result) {
    struct wd_sampler *sampler =
        mmap(NULL, sizeof *sampler, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sampler == MAP_FAILED) {
        memset(result, 0, sizeof *result);
        result->memfd = -1;
        result->error = errno;
        snprintf(result->operation, sizeof result->operation, "map memory for samples");
        return NULL;
    }
    /* As for the arena: stacks are confidential. */
    madvise(sampler, sizeof *sampler, MADV_DONTDUMP);
    madvise(sampler, sizeof *sampler, MADV_DONTFORK);
    sampler->arena = request->arena;
    sampler->request = *request;
    sampler->snapshot = (struct wd_snapshot_request){
        .arena = request->arena, .pid = request->pid, .pidfd = request->pidfd, .start_time = request->start_time,
        .method = WD_METHOD_PROCFS_REGISTERS, .end = WD_END_RELEASE, .cgroup_kill = -1,
        .module_capacity = request->module_capacity, .module_fds = request->module_fds,
        .reader = request->reader,
    };
    if (wd_open_capture(sampler->arena, &sampler->snapshot, result) == 0) {
        sampler->result = *result;
        sampler->arena->result = &sampler->result;
        return sampler;
    }
    wd_close_capture(sampler->arena);
    munmap(sampler, sizeof *sampler);
    return NULL;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t length) {
    const uint8_t *byte = bytes;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, byte, 8);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
        byte += 8;
        length -= 8;
    }
    while (length-- > 0) hash = (hash ^ *byte++) * UINT64_C(0x100000001B3);
    return hash;
}

static uint64_t hash_of(const struct wd_snapshot_arena *arena, const struct wd_slot *slot) {
    const struct wd_thread *thread = &slot->thread;
    uint64_t hash = mix(UINT64_C(0xCBF29CE484222325), &thread->registers[WD_RSP], 8);
    hash = mix(hash, &thread->registers[WD_RIP], 8);
    hash = mix(hash, thread->syscall_text, strlen(thread->syscall_text));
    hash = mix(hash, arena->python_frames + slot->python_first, slot->python_count * sizeof arena->python_frames[0]);
    return mix(hash, arena->stacks + slot->stack_offset, slot->stack_length);
}

static bool same_stack(const struct wd_snapshot_arena *arena, const struct wd_slot *one, const struct wd_slot *other) {
    return one->stack_length == other->stack_length && one->python_count == other->python_count
        && memcmp(arena->python_frames + one->python_first, arena->python_frames + other->python_first,
                  one->python_count * sizeof arena->python_frames[0]) == 0
        && one->stack_address == other->stack_address
        && one->thread.registers[WD_RSP] == other->thread.registers[WD_RSP]
        && one->thread.registers[WD_RIP] == other->thread.registers[WD_RIP]
        && strcmp(one->thread.syscall_text, other->thread.syscall_text) == 0
        && memcmp(arena->stacks + one->stack_offset, arena->stacks + other->stack_offset, one->stack_length) == 0;
}

static void read_name(struct wd_sampler *sampler, pid_t tid, char *name) {
    char path[32];
    snprintf(path, sizeof path, "%d/comm", tid);
    ssize_t length = wd_read_at(sampler->arena->task_directory, path, name, 16);
    if (length > 0 && name[length - 1] == '\n') name[length - 1] = '\0';
}

/* The id of the stack, which is stored if it is new; 0 without room. */
static uint32_t keep(struct wd_sampler *sampler, struct wd_slot *slot, const char *name, size_t mark) {
    struct wd_snapshot_arena *arena = sampler->arena;
    uint64_t hash = hash_of(arena, slot);
    for (uint32_t i = sampler->stack_count; i-- > 0;) {
        if (sampler->hashes[i] != hash || sampler->owners[i] != slot->thread.tid) continue;
        if (!same_stack(arena, &sampler->stacks[i], slot)) continue;
        arena->stacks_used = mark;
        wd_forget_python_stack(arena, slot);
        return i + 1;
    }
    if (sampler->stack_count == WD_SAMPLER_MAX_STACKS) {
        arena->stacks_used = mark;
        wd_forget_python_stack(arena, slot);
        return 0;
    }
    if (slot->thread.state == '?') wd_read_wait(arena, &slot->thread);
    memcpy(slot->thread.name, name, sizeof slot->thread.name);
    uint32_t index = sampler->stack_count++;
    sampler->hashes[index] = hash;
    sampler->owners[index] = slot->thread.tid;
    sampler->stacks[index] = *slot;
    sampler->stacks[index].thread.tid = (int32_t)index + 1;
    return index + 1;
}

static void add(struct wd_sampler *sampler, struct track *track, pid_t tid, uint32_t stack) {
    struct wd_sample_run *runs = sampler->request.runs;
    uint32_t now = sampler->totals.samples;
    if (stack == 0) {
        sampler->totals.lost++;
        track->run = 0;
        return;
    }
    if (track->run != 0) {
        struct wd_sample_run *latest = &runs[track->run - 1];
        if (latest->stack == stack && latest->first + latest->count == now) {
            latest->count++;
            return;
        }
    }
    if (sampler->totals.runs == sampler->request.run_capacity) {
        sampler->totals.lost++;
        track->run = 0;
        return;
    }
    runs[sampler->totals.runs] = (struct wd_sample_run){.tid = tid, .stack = stack, .first = now, .count = 1};
    track->run = ++sampler->totals.runs;
}

static bool read_text(struct wd_sampler *sampler, pid_t tid, const char *file, char *text, size_t size) {
    char path[32];
    snprintf(path, sizeof path, "%d/%s", tid, file);
    ssize_t length = wd_read_at(sampler->arena->task_directory, path, text, size);
    if (length <= 0) return false;
    if (text[length - 1] == '\n') text[length - 1] = '\0';
    return true;
}

static void account(struct track *track) {
    char *cursor = track->accounting;
    track->run_ns = strtoull(cursor, &cursor, 10);
    track->wait_ns = strtoull(cursor, &cursor, 10);
    if (track->known) return;
    track->known = true;
    track->first_run_ns = track->run_ns;
    track->first_wait_ns = track->wait_ns;
}

/* A sleeping thread whose accounting is the same before and after the copy has not run, so the copy is consistent. */
static bool look_at_sleeper(struct wd_sampler *sampler, struct wd_slot *slot, struct track *track, size_t *mark) {
    struct wd_snapshot_arena *arena = sampler->arena;
    struct wd_thread *thread = &slot->thread;
    char accounting[accounting_size];
    for (int attempt = 0; attempt < 2; attempt++) {
        *mark = arena->stacks_used;
        slot->stack_length = 0;
        if (!read_text(sampler, thread->tid, "syscall", thread->syscall_text, sizeof thread->syscall_text)) return true;
        if (!wd_parse_syscall(thread->syscall_text, thread)) return false;
        wd_copy_stack(arena, slot, sample_cap);
        wd_read_python_stack(arena, slot);
        if (!read_text(sampler, thread->tid, "schedstat", accounting, sizeof accounting)) return true;
        if (strcmp(accounting, track->accounting) == 0) return true;
        memcpy(track->accounting, accounting, sizeof accounting);
        arena->stacks_used = *mark;
        slot->stack_length = 0;
        wd_forget_python_stack(arena, slot);
        memset(thread->registers, 0, sizeof thread->registers);
        thread->register_source = WD_REGISTERS_NONE;
    }
    return false;
}

static void mark_running(struct wd_thread *thread) {
    snprintf(thread->syscall_text, sizeof thread->syscall_text, "running");
    thread->state = 'R';
}

/* Returns false if the thread sleeps by now. */
static bool look_at_runner(struct wd_sampler *sampler, struct wd_slot *slot, struct track *track) {
    struct wd_snapshot_arena *arena = sampler->arena;
    struct wd_thread *thread = &slot->thread;
    if (sampler->request.stop_running && sampler->totals.refusal == 0) {
        uint64_t length;
        int error = wd_look_at_running(arena, slot, sample_cap, wd_now() + stop_limit, &length);
        if (error == EAGAIN) return false;
        if (length > 0) {
            sampler->totals.stops++;
            sampler->totals.stopped_ns += length;
            track->stopped_ns += length;
            if (length > sampler->totals.longest_stop_ns) sampler->totals.longest_stop_ns = length;
        }
        if (error != 0 && error != ETIMEDOUT && error != ESRCH) sampler->totals.refusal = error;
    }
    mark_running(thread);
    return true;
}

static void look_at(struct wd_sampler *sampler, struct wd_slot *slot, struct track *track) {
    struct wd_snapshot_arena *arena = sampler->arena;
    pid_t tid = slot->thread.tid;
    char accounting[accounting_size];
    if (!read_text(sampler, tid, "schedstat", accounting, sizeof accounting)) {
        slot->listed = false;
        track->run = 0;
        return;
    }
    bool still = track->run != 0 && track->slept && strcmp(accounting, track->accounting) == 0;
    memcpy(track->accounting, accounting, sizeof accounting);
    if (!track->known) read_name(sampler, tid, track->name);
    account(track);
    if (still) {
        add(sampler, track, tid, sampler->request.runs[track->run - 1].stack);
        return;
    }
    if (WD_STACKS_CAPACITY - arena->stacks_used < least_room) {
        add(sampler, track, tid, 0);
        return;
    }
    size_t mark = arena->stacks_used;
    slot->stack_length = 0;
    slot->python_count = 0;
    memset(&slot->thread, 0, sizeof slot->thread);
    slot->thread.tid = tid;
    slot->thread.state = '?';
    bool slept = look_at_sleeper(sampler, slot, track, &mark);
    for (int round = 0; !slept && round < 3 && !look_at_runner(sampler, slot, track); round++)
        slept = look_at_sleeper(sampler, slot, track, &mark);
    if (!slept && slot->thread.state == '?') mark_running(&slot->thread);
    track->slept = slept && slot->thread.register_source != WD_REGISTERS_NONE;
    if (slot->stack_length == 0) arena->stacks_used = mark;
    uint32_t stack = keep(sampler, slot, track->name, mark);
    slot->stack_length = slot->python_count = 0;
    add(sampler, track, tid, stack);
    account(track);
}

int wd_sampler_look(struct wd_sampler *sampler) {
    struct wd_snapshot_arena *arena = sampler->arena;
    arena->interpreter.spent = arena->interpreter.passed = 0;
    bool added;
    int error = sampler->totals.gone ? ESRCH : wd_list_threads(arena, &added);
    bool any = false;
    for (size_t i = 0; error == 0 && i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (!slot->listed) continue;
        look_at(sampler, slot, &sampler->tracks[i]);
        any |= slot->listed;
    }
    if (error == 0 && !any) error = ESRCH;
    if (error != 0) {
        sampler->totals.gone = 1;
        return error == ENOENT ? ESRCH : error;
    }
    sampler->totals.samples++;
    wd_release_stopped(arena, wd_now() + release_limit);
    return 0;
}

uint32_t wd_sampler_release_stopped(struct wd_sampler *sampler, uint64_t deadline_ns) {
    return (uint32_t)wd_release_stopped(sampler->arena, deadline_ns);
}

void wd_sampler_stop_running(struct wd_sampler *sampler, uint32_t stop_running) {
    sampler->request.stop_running = stop_running;
}

/* Reads the mappings again: libraries may have been loaded since the beginning. */
static void refresh_mappings(struct wd_snapshot_arena *arena) {
    size_t length = arena->maps_length;
    if (wd_read_maps(arena) != 0) {
        arena->maps_length = length;
        return;
    }
    wd_unpin_modules(arena);
    arena->pin_count = 0;
    wd_pin_modules(arena);
}

int wd_sampler_finish(struct wd_sampler *sampler, struct wd_snapshot_result *result,
                      struct wd_sampling_totals *totals) {
    struct wd_snapshot_arena *arena = sampler->arena;
    arena->result = result;
    if (!sampler->totals.gone) refresh_mappings(arena);
    bool blocked = false, stopped = false;
    memcpy(arena->slots, sampler->stacks, sampler->stack_count * sizeof sampler->stacks[0]);
    arena->thread_count = sampler->stack_count;
    memset(arena->tid_slots, 0, sizeof arena->tid_slots);
    for (size_t i = 0; i < arena->thread_count; i++) {
        uint8_t source = arena->slots[i].thread.register_source;
        if (source == WD_REGISTERS_PTRACE) stopped = true;
        if (source == WD_REGISTERS_SYSCALL_FILE) blocked = true;
    }
    result->method = stopped || blocked ? WD_METHOD_PROCFS_REGISTERS : WD_METHOD_PROCFS;
    wd_write_capture(arena);
    *totals = sampler->totals;
    wd_close_capture(arena);
    explicit_bzero(sampler->stacks, sampler->stack_count * sizeof sampler->stacks[0]);
    munmap(sampler, sizeof *sampler);
    return result->error;
}

uint32_t wd_sampler_thread_count(const struct wd_sampler *sampler) {
    uint32_t count = 0;
    for (size_t i = 0; i < sampler->arena->thread_count; i++)
        if (sampler->tracks[i].known) count = (uint32_t)i + 1;
    return count;
}

void wd_sampler_thread(const struct wd_sampler *sampler, uint32_t index, struct wd_sampled_thread *thread) {
    const struct track *track = &sampler->tracks[index];
    *thread = (struct wd_sampled_thread){
        .tid = sampler->arena->slots[index].thread.tid,
        .run_ns = track->run_ns - track->first_run_ns,
        .wait_ns = track->wait_ns - track->first_wait_ns,
        .stopped_ns = track->stopped_ns,
    };
    memcpy(thread->name, track->name, sizeof thread->name);
}
