/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops all threads with ptrace(2), and releases them. PTRACE_SEIZE does not stop a thread, so all threads are
 * seized first and then interrupted in one sweep. Waits are by thread id with __WNOTHREAD, so that they cannot
 * consume the status of another child; the exit status of our own child, the group leader, is never consumed (no
 * WEXITED for it).
 */
#include "internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t state_check_interval = 1000000;
static const size_t state_checks = 32;
/* Most uninterruptible sleeps (a parent in vfork(2), a page fault, a kernel lock) end within this time, and then the
 * thread stops. The other threads stay frozen meanwhile. */
static const uint64_t patience_with_sleep = 20000000;
static const uint64_t release_budget = 5000000;
/* On an idle CPU, a thread stops within a fraction of this. */
static const uint64_t patience = 2000000;
/* If this thread did not run for this long, the others may not have run either. */
static const uint64_t shortest_gap = 10000000;
static const uint64_t gaps_budget = 2000000000;
/* How long threads keep real-time priority: once real-time threads have used up their share of a CPU
 * (sched_rt_runtime_us), the kernel throttles them. While the hypervisor withholds a virtual CPU, they use up that
 * share without running. */
static const uint64_t turn_of_priority = 50000000;
/* A runnable thread stops as soon as it gets a CPU or returns from the kernel. Before a kill, its stack is worth
 * this wait. */
static const uint64_t runnable_budget = 400000000;

/* Sleeps until the next poll. Under a real-time policy, sched_yield(2) would keep the threads off this CPU. The
 * interval grows: the polls of several concurrent captures would take the CPUs from the very threads that must stop. */
static void wait_since(uint64_t began) {
    struct timespec pause = {0, wd_now() < began + patience ? 10000 : 500000};
    nanosleep(&pause, NULL);
}

static bool is_own_leader(const struct wd_snapshot_arena *arena, const struct wd_slot *slot) {
    return arena->is_child && slot->thread.tid == arena->pid;
}

/* Whether the thread has stopped or ended. Only reading its registers proves a stop. The notification does not: the
 * kernel shows stops of a traced child to any thread of this process that waits for it, whatever the options, and
 * that thread consumes the notification. */
static bool poll_stop(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    pid_t tid = slot->thread.tid;
    siginfo_t info = {.si_pid = 0};
    int error = wd_read_registers(slot);
    if (error == ESRCH) {
        /* ESRCH: the thread runs, or has ended. Reap it if it has ended, unless it is our own child, whose status
           other code waits for. */
        if (is_own_leader(arena, slot)) return false;
        if (waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL | __WNOTHREAD) == 0
            && (info.si_pid == 0 || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED))
            return false;
        slot->trace = WD_GONE;
        return true;
    }
    if (error == ENOTSUP) arena->foreign_registers++;
    slot->trace = WD_STOPPED;
    /* An event in the second byte of si_code is the requested stop, or a group-stop. Otherwise it is a
     * signal-delivery-stop, whose signal is delivered on release. */
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code >> 8 != PTRACE_EVENT_STOP)
        slot->pending_signal = info.si_signo;
    waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL | __WNOTHREAD);
    return true;
}

/* The state of the threads that have not stopped. */
enum outlook {
    /* At least one waits for a CPU, or is in a long system call that ends by itself, such as a large mmap(2). */
    RUNNABLE,
    MAY_STOP,
    /* All sleep uninterruptibly or have ended. */
    ASLEEP,
    /* All have ended, but their process has not. */
    ENDED,
};

static enum outlook outlook(struct wd_snapshot_arena *arena, size_t count) {
    enum outlook found = count > state_checks ? MAY_STOP : ENDED;
    for (size_t i = 0; i < count && i < state_checks; i++) {
        char state = wd_thread_state(arena, arena->slots[arena->waiting[i]].thread.tid);
        if (state == 'R') return RUNNABLE;
        if (state == 'D' && found == ENDED) found = ASLEEP;
        else if (state != 'D' && state != 'Z' && state != 'X') found = MAY_STOP;
    }
    return found;
}

/* PTRACE_DETACH fails for a thread that was killed while stopped: wait for its end. */
void wd_let_go(struct wd_slot *slot) {
    wd_spare_call(slot->thread.tid);
    if (ptrace(PTRACE_DETACH, slot->thread.tid, NULL, (void *)(intptr_t)slot->pending_signal) == 0)
        slot->trace = WD_UNTRACED;
    slot->pending_signal = 0;
}

/* A thread stops only on a CPU. A starved one gets real-time priority until it stops, if permitted, which is safe:
 * it runs no user code before the stop. watchdogd's own threads have a higher priority. */
static void hasten(struct wd_slot *slot) {
    slot->policy = sched_getscheduler(slot->thread.tid);
    int policy = slot->policy & ~SCHED_RESET_ON_FORK;
    if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE) return;
    struct sched_param parameter = {.sched_priority = 1};
    slot->hastened = sched_setscheduler(slot->thread.tid, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0;
}

/* The kernel keeps the nice value meanwhile: sched_setscheduler(2). */
static void stop_hastening(struct wd_slot *slot) {
    if (!slot->hastened) return;
    struct sched_param parameter = {.sched_priority = 0};
    /* Clearing SCHED_RESET_ON_FORK takes CAP_SYS_NICE: sched(7). */
    if (sched_setscheduler(slot->thread.tid, slot->policy, &parameter) != 0)
        sched_setscheduler(slot->thread.tid, slot->policy | SCHED_RESET_ON_FORK, &parameter);
    slot->hastened = false;
}

/* Whether the thread has ended, or stopped late and was released. */
static bool poll_end(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    if (slot->trace == WD_TRACED && !arena->result->killed && poll_stop(arena, slot) && slot->trace == WD_STOPPED) {
        stop_hastening(slot);
        wd_let_go(slot);
    }
    if (slot->trace != WD_TRACED && slot->trace != WD_STOPPED) return true;
    if (is_own_leader(arena, slot)) {
        if (arena->result->killed) return true;
        char state = wd_thread_state(arena, slot->thread.tid);
        return state == 'Z' || state == 'X';
    }
    siginfo_t info = {.si_pid = 0};
    int error = waitid(P_PID, (id_t)slot->thread.tid, &info, WEXITED | WNOHANG | __WALL | __WNOTHREAD);
    if (error == 0 && (info.si_pid == 0 || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)) return false;
    slot->trace = WD_GONE;
    return true;
}

static void seize(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    if (slot->trace != WD_UNTRACED || slot->thread.state == 'Z' || slot->thread.state == 'X') return;
    if (ptrace(PTRACE_SEIZE, slot->thread.tid, NULL, NULL) == 0) {
        slot->trace = WD_TRACED;
        return;
    }
    int error = errno;
    /* PTRACE_SEIZE fails with EPERM for an exiting thread, too. */
    char state = error == ESRCH ? 'X' : wd_thread_state(arena, slot->thread.tid);
    if (state == 'X' || state == 'Z') slot->trace = WD_GONE;
    else if (arena->seize_error == 0) arena->seize_error = error;
}

/* Whether the leader must be waited for again. A thread that executes a program takes over the leader's id, and the
 * leader's tracing ends with the leader: execve(2). No wait(2) tells that of our own child, but PTRACE_INTERRUPT fails
 * then, stopped or not. Only another PTRACE_SEIZE stops the thread that has this id now. */
static bool follow_execution(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    pid_t tid = slot->thread.tid;
    if (tid != arena->pid || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0) return false;
    slot->trace = WD_UNTRACED;
    seize(arena, slot);
    if (slot->trace != WD_TRACED) {
        slot->trace = WD_GONE;
        return false;
    }
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    /* It was hastened under its own id. */
    if (sched_getscheduler(tid) == (SCHED_RR | SCHED_RESET_ON_FORK)) slot->hastened = true;
    return true;
}

static void wait_for_stops(struct wd_snapshot_arena *arena, uint64_t deadline) {
    size_t count = 0;
    for (size_t i = 0; i < arena->thread_count; i++)
        if (arena->slots[i].trace == WD_TRACED) arena->waiting[count++] = (uint16_t)i;
    uint64_t began = wd_now(), next_check = began + 2 * state_check_interval;
    uint64_t extension = arena->request->end == WD_END_KILL ? runnable_budget : 0;
    uint64_t polled = began, awake = began, gaps = 0;
    uint64_t next_turn = began + patience;
    bool hastened = false;
    while (count > 0) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            struct wd_slot *slot = &arena->slots[arena->waiting[i]];
            bool waits = slot->trace == WD_TRACED && !poll_stop(arena, slot);
            if (!waits && slot->trace == WD_GONE) waits = follow_execution(arena, slot);
            if (waits) arena->waiting[left++] = arena->waiting[i];
            else stop_hastening(slot);
        }
        bool progress = left < count;
        count = left;
        if (count == 0) break;
        uint64_t now = wd_now();
        if (now - polled >= shortest_gap && gaps < gaps_budget) gaps += now - polled;
        polled = now;
        if (now >= deadline + gaps + extension) break;
        if (now >= next_turn) {
            for (size_t i = 0; i < count; i++) {
                struct wd_slot *slot = &arena->slots[arena->waiting[i]];
                if (hastened) stop_hastening(slot);
                else hasten(slot);
            }
            hastened = !hastened;
            next_turn = now + turn_of_priority;
        }
        if (now >= next_check) {
            for (size_t i = 0; i < count; i++) follow_execution(arena, &arena->slots[arena->waiting[i]]);
            enum outlook expected = outlook(arena, count);
            if (expected == RUNNABLE || expected == MAY_STOP) awake = now;
            if (expected == ENDED || now - awake >= patience_with_sleep) break;
            if (now >= deadline + gaps && expected != RUNNABLE) break;
            next_check = wd_now() + state_check_interval;
        }
        if (!progress) wait_since(began);
    }
    /* A thread may have stopped since its last poll. */
    for (size_t i = 0; i < count; i++) {
        poll_stop(arena, &arena->slots[arena->waiting[i]]);
        stop_hastening(&arena->slots[arena->waiting[i]]);
    }
}

/* Seizes threads until a listing shows no new ones: a thread may create others before it is seized. Returns the
 * number of known threads. */
static size_t seize_from(struct wd_snapshot_arena *arena, size_t seen) {
    for (int round = 0; round < 32; round++) {
        for (; seen < arena->thread_count; seen++) seize(arena, &arena->slots[seen]);
        bool added = false;
        if (wd_list_threads(arena, &added) != 0 || !added) break;
    }
    return seen;
}

/* How long to wait for threads to stop, in nanoseconds. */
uint64_t wd_stop_timeout(const struct wd_snapshot_arena *arena) {
    uint32_t timeout = arena->request->stop_timeout_us;
    return (uint64_t)(timeout == 0 ? 100000 : timeout) * 1000;
}

uint64_t wd_patience(const struct wd_snapshot_arena *arena, uint64_t usual) {
    uint64_t timeout = wd_stop_timeout(arena);
    return timeout > usual ? timeout : usual;
}

bool wd_is_over(const struct wd_snapshot_arena *arena, uint64_t began, uint64_t cpu_began, uint64_t budget,
                uint64_t patience) {
    return wd_cpu_now() - cpu_began > budget || wd_now() - began > wd_patience(arena, patience);
}

void wd_freeze(struct wd_snapshot_arena *arena) {
    uint64_t deadline = wd_now() + wd_stop_timeout(arena);
    size_t interrupted = 0;
    /* A running thread may have created another one between the last listing and its stop. */
    for (int round = 0; round < 16; round++) {
        size_t count = seize_from(arena, interrupted);
        if (round == 0) arena->result->times.first_stop = wd_now();
        if (round > 0 && count == interrupted) break;
        for (; interrupted < count; interrupted++) {
            struct wd_slot *slot = &arena->slots[interrupted];
            if (slot->trace == WD_TRACED) ptrace(PTRACE_INTERRUPT, slot->thread.tid, NULL, NULL);
        }
        wait_for_stops(arena, deadline);
    }
    arena->result->times.all_stopped = wd_now();
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (slot->trace == WD_TRACED) arena->not_stopped++;
        /* The kernel has reused this thread id for another process between listing and seizing. */
        if (slot->trace == WD_STOPPED && !slot->listed) wd_let_go(slot);
    }
}

/* Stops one thread and reads its registers. Returns 0 or an errno. After 0, release it with wd_let_go; after
 * ETIMEDOUT, it continues, but the stop is still pending: wd_release_stopped releases it after the stop. */
int wd_stop_thread(struct wd_snapshot_arena *arena, struct wd_slot *slot, uint64_t deadline) {
    arena->seize_error = 0;
    /* A thread that did not stop in time is still traced, with a pending stop. */
    if (slot->trace != WD_TRACED) {
        slot->trace = WD_UNTRACED;
        seize(arena, slot);
        if (slot->trace != WD_TRACED) return arena->seize_error != 0 ? arena->seize_error : ESRCH;
        ptrace(PTRACE_INTERRUPT, slot->thread.tid, NULL, NULL);
    }
    uint64_t began = wd_now(), now = began;
    bool hastened = false;
    int error = 0;
    arena->stopped_since = began;
    while (error == 0 && !poll_stop(arena, slot)) {
        arena->stopped_since = now; /* it still ran at this time */
        now = wd_now();
        if (now >= deadline) error = ETIMEDOUT;
        if (now >= began + patience_with_sleep && wd_thread_state(arena, slot->thread.tid) == 'D') error = ETIMEDOUT;
        if (!hastened && now >= began + patience) {
            hasten(slot);
            hastened = true;
        }
        if (error == 0) wait_since(began);
        now = wd_now();
    }
    stop_hastening(slot);
    return error != 0 || slot->trace == WD_STOPPED ? error : ESRCH;
}

/* Waits for the traced threads to end or to stop late, and releases the latter. Returns how many are left. */
static size_t wait_for_the_rest(struct wd_snapshot_arena *arena, uint64_t deadline, bool hastens) {
    size_t count = 0;
    for (size_t i = 0; i < arena->thread_count; i++) {
        const struct wd_slot *slot = &arena->slots[i];
        if (slot->trace == WD_TRACED || slot->trace == WD_STOPPED) arena->waiting[count++] = (uint16_t)i;
    }
    uint64_t began = wd_now();
    for (bool hastened = false;;) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++)
            if (!poll_end(arena, &arena->slots[arena->waiting[i]])) arena->waiting[left++] = arena->waiting[i];
        bool progress = left < count;
        count = left;
        if (count == 0 || wd_now() >= deadline) break;
        if (hastens && !hastened && wd_now() >= began + patience) {
            for (size_t i = 0; i < count; i++) hasten(&arena->slots[arena->waiting[i]]);
            hastened = true;
        }
        if (!progress) wait_since(began);
    }
    for (size_t i = 0; i < count; i++) stop_hastening(&arena->slots[arena->waiting[i]]);
    return count;
}

/* Waits for threads with a pending stop, and releases each immediately. Returns the number of remaining threads;
 * once such a thread stops, it stays stopped until the calling thread ends. */
size_t wd_release_stopped(struct wd_snapshot_arena *arena, uint64_t deadline) {
    return wait_for_the_rest(arena, deadline, true);
}

void wd_release(struct wd_snapshot_arena *arena) {
    bool all = true;
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (slot->trace == WD_TRACED) poll_stop(arena, slot);
        if (slot->trace == WD_STOPPED) wd_let_go(slot);
        if (slot->trace == WD_TRACED || slot->trace == WD_STOPPED) all = false;
    }
    if (!all) wd_reap(arena, wd_now() + release_budget);
}

/* Waits for the traced threads of a process that was killed. Until then, the kernel reports the death of the group
 * to no waiter. */
void wd_reap(struct wd_snapshot_arena *arena, uint64_t deadline) {
    arena->result->lingering = (uint32_t)wait_for_the_rest(arena, deadline, false);
}
