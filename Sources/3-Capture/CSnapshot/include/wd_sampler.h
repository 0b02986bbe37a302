/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples all threads of a process without stopping those that sleep.
 *
 * A sleeping thread's stack pointer and program counter come from /proc/PID/task/TID/syscall and its stack from
 * process_vm_readv(2): the thread is not disturbed, and none of its system calls is interrupted. While its
 * accounting is unchanged, it cannot have moved, and is not read again. /proc shows no registers of a thread on a
 * CPU; on request, that thread alone is stopped briefly with ptrace(2).
 */
#pragma once
#include <stdint.h>

#include "wd_snapshot.h"

#define WD_SAMPLER_MAX_STACKS 2048 /* distinct stacks in one sampling */

struct wd_sampler;

struct wd_sampling_request {
    struct wd_snapshot_arena *arena;
    int32_t pid;
    int32_t pidfd;            /* refers to pid; -1: opened and closed here */
    uint64_t start_time;      /* /proc/PID/stat field 22; 0: not compared */
    uint32_t stop_running;    /* 1: stop threads on a CPU briefly */
    uint32_t run_capacity;    /* elements of runs */
    struct wd_sample_run *runs;
    uint32_t module_capacity; /* elements of module_fds */
    int32_t *module_fds;      /* as in struct wd_snapshot_request */
    struct wd_memory_reader reader;
};

/* A thread that showed the same stack in consecutive samples. */
struct wd_sample_run {
    int32_t tid;
    uint32_t stack; /* its thread id in the snapshot, from 1 */
    uint32_t first; /* number of the first sample, from 0 */
    uint32_t count;
};

struct wd_sampled_thread {
    int32_t tid;
    char name[16];
    uint64_t run_ns;  /* on a CPU during the sampling */
    uint64_t wait_ns; /* runnable without a CPU */
    uint64_t stopped_ns; /* upper bound of the time stopped by the sampler */
};

struct wd_sampling_totals {
    uint32_t samples;
    uint32_t runs;
    uint32_t lost;           /* samples of threads that exceeded the table */
    uint32_t stops;          /* times a thread was stopped */
    uint64_t longest_stop_ns;
    uint64_t stopped_ns;     /* total of all stops */
    int32_t refusal;         /* errno of the first refused stop, or 0 */
    uint32_t gone;           /* the process ended during the sampling */
};

/* Opens the process and reads its mappings. Returns NULL on failure, and sets result->error and result->operation.
 * The sampler owns the arena until it is finished. */
struct wd_sampler *wd_sampler_begin(const struct wd_sampling_request *request, struct wd_snapshot_result *result);

/* Samples every thread once. Returns 0, or an errno after which no further sample is possible. */
int wd_sampler_look(struct wd_sampler *sampler);

/* Waits for threads that stop late until `deadline_ns` on CLOCK_MONOTONIC, and returns how many are left; usually 0
 * without waiting, unless a thread sleeps uninterruptibly or gets no CPU. Only this and wd_sampler_look release such
 * a thread. */
uint32_t wd_sampler_release_stopped(struct wd_sampler *sampler, uint64_t deadline_ns);

/* Sets whether the following samples stop threads on a CPU; request->stop_running does so for the first. */
void wd_sampler_stop_running(struct wd_sampler *sampler, uint32_t stop_running);

/* Ends the sampling and frees the sampler. In the snapshot, each distinct stack is a thread, whose id is the `stack`
 * of the runs, and whose state, system call and name are those of the sampled thread. Returns result->error. */
int wd_sampler_finish(struct wd_sampler *sampler, struct wd_snapshot_result *result,
                      struct wd_sampling_totals *totals);

/* The number of threads seen so far; valid until the sampler is finished. */
uint32_t wd_sampler_thread_count(const struct wd_sampler *sampler);
void wd_sampler_thread(const struct wd_sampler *sampler, uint32_t index, struct wd_sampled_thread *thread);
