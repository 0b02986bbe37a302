/* SPDX-License-Identifier: Apache-2.0
 *
 * The goroutines of a Go program, with the stacks of those that are on no thread. The list and its elements are
 * untrusted: every count is bounded, and addresses are used only to read the target.
 */
#include "internal.h"

#include <string.h>

/* In CPU time, and in wall time, as for the frames of Python. */
static const uint64_t read_budget = 5000000, read_patience = 100000000;

enum {
    /* In struct g of runtime2.go; the scheduler's assembly and debuggers rely on the first ones. */
    stack_low = 0, stack_high = 8, saved_sp = 56, saved_pc = 64, saved_g = 72, saved_lr = 96, saved_bp = 104,
    /* From the status on. */
    id = 8, since = 24, reason = 32,
    scan_bit = 0x1000, batch = 64, stack_bytes = 16 << 10, most_reasons = 128,
    /* In struct pollDesc of netpoll.go, since 1.18. */
    poll_descriptor = 8, poll_readers = 24, poll_last = 40,
    /* The frames from gopark() to runtime_pollWait(). */
    poll_bytes = 512,
};
_Static_assert(batch * WD_GOROUTINE <= sizeof((struct wd_snapshot_arena *)0)->scratch, "a batch fits");

enum status { runnable = 1, running = 2, in_system_call = 3, waiting = 4, copying = 8, preempted = 9, leaked = 10 };

uint32_t wd_goroutine_status(const char *bytes, uint32_t offset) {
    uint32_t status;
    memcpy(&status, bytes + offset, sizeof status);
    return status & ~(uint32_t)scan_bit;
}

/* A goroutine refers to itself. */
bool wd_is_goroutine(uint64_t address, const char *bytes) {
    return wd_word(bytes, saved_g) == address && wd_word(bytes, stack_low) < wd_word(bytes, stack_high);
}

static bool is_alive(uint32_t status) {
    return (status >= runnable && status <= waiting) || (status >= copying && status <= leaked);
}

/* The thread on whose stack a goroutine runs; 0 if there is none. */
static int32_t find_thread(const struct wd_snapshot_arena *arena, const struct wd_goroutine *goroutine) {
    for (size_t i = 0; i < arena->thread_count; i++) {
        const struct wd_thread *thread = &arena->slots[i].thread;
        uint64_t pointer = thread->registers[WD_RSP];
        if (thread->register_source != WD_REGISTERS_NONE && pointer >= goroutine->stack_low
            && pointer < goroutine->stack_high)
            return thread->tid;
    }
    return 0;
}

/* Copies the words for a wait, without characters that a word does not have. */
static void copy_reason(struct wd_snapshot_arena *arena, uint8_t number, char *text) {
    uint64_t entry[2];
    if (arena->go.waits == 0 || number == 0 || number >= most_reasons
        || wd_read_memory(arena, arena->go.waits + number * sizeof entry, entry, sizeof entry) != sizeof entry
        || entry[1] >= WD_GO_REASON_BYTES || wd_read_memory(arena, entry[0], text, (size_t)entry[1]) != entry[1]) {
        text[0] = '\0';
        return;
    }
    for (size_t i = 0; i < entry[1]; i++) if (text[i] < 0x20 || text[i] > 0x7e) text[i] = '?';
    text[entry[1]] = '\0';
}

/* The descriptor for which a goroutine waits; -1 if that is unknown.
 *
 * Its stack has the address of a pollDesc, and that of the field in it that refers to the waiting goroutine: rg or wg, in
 * front of which 1.20 has a new field. */
static int32_t find_polled(struct wd_snapshot_arena *arena, uint64_t address, const struct wd_goroutine_copy *copy) {
    if (strcmp(copy->goroutine.reason, "IO wait") != 0) return -1;
    const char *stack = (const char *)arena->stacks + copy->stack_offset;
    size_t end = copy->stack_length < poll_bytes ? copy->stack_length : poll_bytes;
    for (size_t i = 0; i + sizeof(uint64_t) <= end; i += sizeof(uint64_t)) {
        uint64_t polled = wd_word(stack, i);
        for (size_t j = 0; j + sizeof(uint64_t) <= end; j += sizeof(uint64_t)) {
            uint64_t field = wd_word(stack, j), offset = field - polled, waiter, descriptor;
            if (offset < poll_readers || offset > poll_last || offset % sizeof waiter != 0) continue;
            if (wd_read_memory(arena, field, &waiter, sizeof waiter) != sizeof waiter || waiter != address) continue;
            if (wd_read_memory(arena, polled + poll_descriptor, &descriptor, sizeof descriptor) == sizeof descriptor
                && descriptor <= INT32_MAX)
                return (int32_t)descriptor;
        }
    }
    return -1;
}

static void copy_goroutine(struct wd_snapshot_arena *arena, uint64_t address, const char *bytes) {
    if (arena->go.count == WD_GO_MAX_GOROUTINES) return;
    struct wd_goroutine_copy *copy = &arena->goroutines[arena->go.count];
    char again[WD_GOROUTINE];
    const char *status = bytes + arena->go.status;
    *copy = (struct wd_goroutine_copy){.goroutine = {
        .id = wd_word(status, id), .pc = wd_word(bytes, saved_pc), .sp = wd_word(bytes, saved_sp),
        /* The link register, which x86-64 does not have, is in front of the frame pointer until 1.24. */
        .bp = wd_word(bytes, saved_lr) != 0 ? wd_word(bytes, saved_lr) : wd_word(bytes, saved_bp),
        .stack_low = wd_word(bytes, stack_low), .stack_high = wd_word(bytes, stack_high),
        .waiting_since = wd_word(status, since), .status = wd_goroutine_status(bytes, arena->go.status), .polled = -1,
    }};
    struct wd_goroutine *goroutine = &copy->goroutine;
    if (goroutine->status == running || goroutine->status == in_system_call) goroutine->tid = find_thread(arena, goroutine);
    if (goroutine->status == waiting) copy_reason(arena, (uint8_t)status[reason], goroutine->reason);
    arena->go.count++;
    if (goroutine->tid != 0 || goroutine->status == running || goroutine->sp < goroutine->stack_low
        || goroutine->sp >= goroutine->stack_high)
        return;
    uint64_t length = goroutine->stack_high - goroutine->sp;
    copy->stack_length = (uint32_t)wd_append_memory(
        arena, goroutine->sp, length < stack_bytes ? (size_t)length : stack_bytes, &copy->stack_offset);
    goroutine->polled = find_polled(arena, address, copy);
    /* Another thread may run the goroutine meanwhile, or move its stack. */
    if (wd_read_memory(arena, address, again, sizeof again) != sizeof again || memcmp(bytes, again, sizeof again) != 0) {
        copy->stack_length = 0;
        goroutine->polled = -1;
    }
}

/* Reads some goroutines; false if one of them cannot be read. */
static bool read_batch(struct wd_snapshot_arena *arena, const uint64_t *addresses, size_t count) {
    struct iovec ranges[batch];
    for (size_t i = 0; i < count; i++) ranges[i] = (struct iovec){(void *)(uintptr_t)addresses[i], WD_GOROUTINE};
    size_t got = wd_read_vectors(arena, arena->scratch, ranges, count) / WD_GOROUTINE;
    for (size_t i = 0; i < got; i++) {
        const char *bytes = arena->scratch + i * WD_GOROUTINE;
        uint32_t status = wd_goroutine_status(bytes, arena->go.status);
        if (!is_alive(status)) continue;
        if (!wd_is_goroutine(addresses[i], bytes)) return false;
        arena->go.go.alive++;
        if (status <= in_system_call || status == copying) arena->go.go.active++;
        copy_goroutine(arena, addresses[i], bytes);
    }
    return got == count;
}

/* Copies the goroutines. Without a stop, each is as of its own moment. */
void wd_read_goroutines(struct wd_snapshot_arena *arena) {
    uint64_t list[2], addresses[batch];
    if (!arena->go.is_found) return;
    arena->go.go.reading = WD_GO_UNKNOWN;
    if (arena->go.list == 0 || wd_read_memory(arena, arena->go.list, list, sizeof list) != sizeof list) return;
    arena->go.go.reading = WD_GO_CUT;
    uint64_t began = wd_now(), cpu_began = wd_cpu_now(), left = list[1];
    for (uint64_t at = list[0]; left > 0; at += sizeof addresses) {
        if (wd_is_over(arena, began, cpu_began, read_budget, read_patience)) return;
        size_t count = left < batch ? (size_t)left : batch, length = count * sizeof addresses[0];
        if (wd_read_memory(arena, at, addresses, length) != length || !read_batch(arena, addresses, count)) return;
        left -= count;
    }
    arena->go.go.reading = WD_GO_READ;
}
