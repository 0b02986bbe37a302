/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops one thread that is on a CPU, for as long as it takes to copy its registers and its stack: /proc shows
 * neither. The stop is transparent: in user code it costs only time, and a system call that the thread enters just
 * then is restarted (restart.c). Nothing slow happens while the thread is stopped.
 */
#include "internal.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* The longest stop in nanoseconds; what is not copied by then is left out. */
static const uint64_t stop_budget = 500000;

static bool is_running(struct wd_snapshot_arena *arena, pid_t tid) {
    char name[32], text[16];
    snprintf(name, sizeof name, "%d/syscall", tid);
    return wd_read_at(arena->task_directory, name, text, sizeof text) > 0 && strncmp(text, "running", 7) == 0
        && wd_thread_state(arena, tid) == 'R';
}

/* Raises this thread to real-time priority, because it must not wait for a CPU while another thread is stopped.
 * Returns the policy to restore; -1: unchanged, because it is real-time already, or not permitted. */
static int take_precedence(void) {
    struct sched_param parameter = {.sched_priority = 2};
    int policy = sched_getscheduler(0);
    if (policy < 0 || (policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER) return -1;
    return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0 ? policy : -1;
}

static void give_back_precedence(int policy) {
    struct sched_param parameter = {.sched_priority = 0};
    if (policy < 0 || sched_setscheduler(0, policy, &parameter) == 0) return;
    sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &parameter); /* clearing it takes CAP_SYS_NICE: sched(7) */
}

/* Reads the stack of a thread on a CPU; *stopped_ns is how long it was stopped, at most. Returns 0, or an errno:
 * EAGAIN for a thread that sleeps, ESRCH for one that has ended, ETIMEDOUT for one that did not stop in time, which
 * wd_release_stopped waits for. */
int wd_look_at_running(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, uint64_t deadline,
                       uint64_t *stopped_ns) {
    struct wd_thread *thread = &slot->thread;
    *stopped_ns = 0;
    if (arena->interpreter.layout != NULL && slot->own_tid == 0) slot->own_tid = wd_own_tid(arena, thread->tid);
    for (bool again = false;; again = true) {
        if (slot->trace != WD_TRACED && !is_running(arena, thread->tid)) return EAGAIN;
        int policy = take_precedence();
        int error = wd_stop_thread(arena, slot, deadline);
        size_t mark = arena->stacks_used;
        bool complete = true;
        if (error == 0) {
            arena->stop_deadline = wd_now() + stop_budget;
            if (thread->register_source == WD_REGISTERS_PTRACE) {
                complete = wd_copy_resident_stack(arena, slot, cap);
                wd_read_python_stack(arena, slot);
            }
            wd_let_go(slot);
            arena->stop_deadline = 0;
            uint64_t length = wd_now() - arena->stopped_since;
            arena->result->brief_stops++;
            *stopped_ns += length;
            if (length > arena->result->longest_stop_ns) arena->result->longest_stop_ns = length;
        }
        give_back_precedence(policy);
        if (complete || again) return error;
        /* Some pages were swapped out. The thread runs again, so now it is safe to wait for the disk. */
        wd_copy_stack(arena, slot, cap);
        wd_forget_stack(arena, slot, mark);
    }
}
