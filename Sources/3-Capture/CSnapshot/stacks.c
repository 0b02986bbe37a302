/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t largest_cap = (size_t)256 << 10;
static const size_t crowd_cap = (size_t)64 << 10;
static const size_t least_cap = (size_t)4 << 10;
static const size_t outer_cap = (size_t)32 << 10;
static const size_t crowd = 200;
static const uint64_t page = 4096;

/* The part of the stack that is worth copying: from the red zone (System V psABI 3.2.2) below the stack pointer to
 * the mapping's end, without the arguments and the environment. A pointer outside all known mappings belongs to a
 * stack that has grown or was mapped after maps was read, so its extent is found by reading. */
static size_t extent(const struct wd_snapshot_arena *arena, uint64_t pointer, size_t cap, uint64_t *start) {
    if (pointer < 4096 || pointer > UINT64_MAX - largest_cap) return 0;
    uint64_t low = (pointer - WD_RED_ZONE) & ~UINT64_C(7);
    const struct wd_mapping *mapping = wd_find_mapping(arena, pointer);
    size_t length = cap;
    if (mapping != NULL) {
        if (low < mapping->start) low = mapping->start;
        if (mapping->end - low < length) length = (size_t)(mapping->end - low);
    }
    uint64_t base = arena->stack_base;
    if (low < base && base - low < length) length = (size_t)(base - low);
    if (low >= base && mapping != NULL && mapping->start <= base && base < mapping->end) length = 0;
    *start = low;
    return length;
}

/* The outermost part of a stack that was copied in part: it has the function that began a recursion. The length is 0
 * if nothing is left, or if the end of the stack is unknown. */
static size_t outer_extent(const struct wd_snapshot_arena *arena, uint64_t copied, size_t length, uint64_t *start) {
    const struct wd_mapping *mapping = length > 0 ? wd_find_mapping(arena, copied) : NULL;
    if (mapping == NULL) return 0;
    uint64_t end = mapping->end, base = arena->stack_base, reached = copied + length;
    if (mapping->start <= base && base < end) end = base & ~UINT64_C(7);
    if (end <= reached) return 0;
    *start = end - reached < outer_cap ? reached : end - outer_cap;
    return (size_t)(end - *start);
}

static bool is_main(const struct wd_snapshot_arena *arena, const struct wd_slot *slot) {
    return slot->thread.tid == arena->pid;
}

size_t wd_stack_cap(size_t threads) {
    return threads > crowd ? crowd_cap : largest_cap;
}

static size_t total(const struct wd_snapshot_arena *arena, size_t cap) {
    size_t sum = 0;
    uint64_t start;
    for (size_t i = 0; i < arena->thread_count; i++) {
        const struct wd_slot *slot = &arena->slots[i];
        if (slot->thread.register_source != WD_REGISTERS_PTRACE) continue;
        size_t length = extent(arena, slot->thread.registers[WD_RSP], is_main(arena, slot) ? largest_cap : cap, &start);
        sum += length + outer_extent(arena, start, length, &start) + 32;
    }
    return sum;
}

size_t wd_append_memory(struct wd_snapshot_arena *arena, uint64_t start, size_t length, size_t *offset) {
    if (length > WD_STACKS_CAPACITY - arena->stacks_used) length = WD_STACKS_CAPACITY - arena->stacks_used;
    *offset = arena->stacks_used;
    length = wd_read_memory(arena, start, arena->stacks + arena->stacks_used, length);
    arena->stacks_used += (length + 15) & ~(size_t)15;
    return length;
}

static void copy(struct wd_snapshot_arena *arena, struct wd_slot *slot, uint64_t start, size_t length) {
    slot->stack_address = start;
    slot->stack_length = (uint32_t)wd_append_memory(arena, start, length, &slot->stack_offset);
}

/* Like extent, for a stack overflow: the pointer is in or below the guard, so this is the stack above it. */
static size_t extent_above(const struct wd_snapshot_arena *arena, uint64_t pointer, size_t cap, uint64_t *start) {
    static const uint64_t longest_leap = UINT64_C(1) << 20; /* the largest frame */
    const struct wd_mapping *mapping = wd_find_mapping_above(arena, pointer);
    if (mapping == NULL || mapping->start - pointer > longest_leap) return 0;
    return extent(arena, mapping->start, cap, start);
}

/* The stack pointer that a signal handler on an alternate stack has interrupted; 0 if none runs there. The kernel
 * leaves a ucontext above the handler's frames: struct rt_sigframe of arch/x86/include/asm/sigframe.h. It holds the
 * bounds of the alternate stack, which contain the pointer. */
static uint64_t interrupted_pointer(const struct wd_snapshot_arena *arena, const struct wd_slot *slot) {
    enum { flags = 0, link = 8, base = 16, size = 32, rsp = 160, rip = 168, segments = 184, length = 192 };
    static const uint64_t known_flags = 7, user_code = 0x33;
    static const size_t reach = (size_t)32 << 10; /* the maximum size of the handler's frames */
    uint64_t pointer = slot->thread.registers[WD_RSP];
    const uint8_t *stack = arena->stacks + slot->stack_offset;
    size_t end = slot->stack_length < reach ? slot->stack_length : reach;
    for (size_t offset = 0; offset + length <= end; offset += 8) {
        uint64_t words[length / 8];
        memcpy(&words[segments / 8], stack + offset + segments, 8);
        if ((words[segments / 8] & 0xffff) != user_code) continue;
        memcpy(words, stack + offset, sizeof words);
        if (words[flags / 8] > known_flags || words[link / 8] != 0 || words[rip / 8] == 0) continue;
        if (pointer - words[base / 8] >= words[size / 8]) continue;
        uint64_t saved = words[rsp / 8];
        if (saved - words[base / 8] >= words[size / 8]) return saved;
    }
    return 0;
}

/* `only_resident`: skips pages that would have to be read from a disk. */
static void copy_interrupted(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, bool only_resident) {
    slot->interrupted_length = 0;
    uint64_t start = 0, pointer = interrupted_pointer(arena, slot);
    if (pointer == 0) return;
    size_t (*const extents[])(const struct wd_snapshot_arena *, uint64_t, size_t, uint64_t *) = {extent, extent_above};
    for (size_t i = 0; i < 2 && slot->interrupted_length == 0; i++) {
        size_t length = extents[i](arena, pointer, cap, &start);
        if (only_resident) length = wd_resident_length(arena, start, length);
        slot->interrupted_address = start;
        slot->interrupted_length = (uint32_t)wd_append_memory(arena, start, length, &slot->interrupted_offset);
    }
}

/* Copies the outer part of the interrupted stack, if there is one, because the alternate one is short. */
static void copy_outer(struct wd_snapshot_arena *arena, struct wd_slot *slot, bool only_resident) {
    bool is_interrupted = slot->interrupted_length > 0;
    uint64_t start = 0, copied = is_interrupted ? slot->interrupted_address : slot->stack_address;
    size_t length = outer_extent(arena, copied, is_interrupted ? slot->interrupted_length : slot->stack_length, &start);
    if (only_resident && length > 0) length = wd_resident_length(arena, start, length);
    slot->outer_address = start;
    slot->outer_length = (uint32_t)wd_append_memory(arena, start, length, &slot->outer_offset);
}

static void copy_any_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap) {
    uint64_t start = 0;
    size_t length = extent(arena, slot->thread.registers[WD_RSP], cap, &start);
    copy(arena, slot, start, length);
    if (slot->stack_length == 0) {
        length = extent_above(arena, slot->thread.registers[WD_RSP], cap, &start);
        copy(arena, slot, start, length);
    }
    copy_interrupted(arena, slot, cap, false);
    copy_outer(arena, slot, false);
}

void wd_copy_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap) {
    size_t mark = arena->stacks_used;
    if (!arena->only_resident) copy_any_stack(arena, slot, cap);
    if (!arena->only_resident) return;
    arena->stacks_used = mark; /* the page that does not answer may be one of these */
    wd_copy_resident_stack(arena, slot, cap);
}

void wd_adopt_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, const void *bytes, size_t length) {
    uint64_t start = 0, pointer = slot->thread.registers[WD_RSP];
    size_t most = extent(arena, pointer, cap, &start), below = (size_t)(pointer - start);
    most = most > below ? most - below : 0; /* the bytes do not include the red zone */
    if (length > most) length = most;
    if (length > WD_STACKS_CAPACITY - arena->stacks_used) length = WD_STACKS_CAPACITY - arena->stacks_used;
    slot->stack_address = pointer;
    slot->stack_length = (uint32_t)length;
    slot->stack_offset = arena->stacks_used;
    slot->outer_length = 0;
    memcpy(arena->stacks + arena->stacks_used, bytes, length);
    arena->stacks_used += (length + 15) & ~(size_t)15;
}

/* Like wd_copy_stack, but never waits for a page. Returns whether the stack is complete. */
bool wd_copy_resident_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap) {
    uint64_t start = 0;
    size_t length = extent(arena, slot->thread.registers[WD_RSP], cap, &start);
    size_t resident = wd_resident_length(arena, start, length);
    uint64_t pointer_page = slot->thread.registers[WD_RSP] & ~(page - 1);
    if (resident == 0 && start < pointer_page && pointer_page - start < length) { /* the red zone is empty */
        length -= (size_t)(pointer_page - start);
        start = pointer_page;
        resident = wd_resident_length(arena, start, length);
    }
    if (arena->only_resident && resident < length) wd_note_left_out(arena, start + resident);
    copy(arena, slot, start, resident);
    copy_interrupted(arena, slot, cap, true);
    copy_outer(arena, slot, true);
    return resident == length;
}

void wd_read_stacks(struct wd_snapshot_arena *arena) {
    size_t cap = wd_stack_cap(arena->thread_count);
    while (cap > least_cap && total(arena, cap) > WD_STACKS_CAPACITY) cap /= 2;
    if (cap < wd_stack_cap(arena->thread_count)) {
        char note[64];
        snprintf(note, sizeof note, "stacks cut to %zu KiB per thread", cap >> 10);
        wd_note_truncation(arena, note);
    }
    struct wd_slot *main_thread = wd_find_thread(arena, arena->pid);
    if (main_thread != NULL && main_thread->thread.register_source == WD_REGISTERS_PTRACE)
        wd_copy_stack(arena, main_thread, largest_cap);
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (slot != main_thread && slot->thread.register_source == WD_REGISTERS_PTRACE) wd_copy_stack(arena, slot, cap);
    }
}

/* Reads what changes whenever a thread runs: its accounting, and where it is blocked. */
static bool read_position(struct wd_snapshot_arena *arena, pid_t tid, char *schedstat, char *text) {
    char name[32];
    snprintf(name, sizeof name, "%d/schedstat", tid);
    if (wd_read_at(arena->task_directory, name, schedstat, 128) <= 0) schedstat[0] = '\0';
    snprintf(name, sizeof name, "%d/syscall", tid);
    if (wd_read_at(arena->task_directory, name, text, sizeof((struct wd_thread *)0)->syscall_text) <= 0) return false;
    char *newline = strchr(text, '\n');
    if (newline != NULL) *newline = '\0';
    return true;
}

void wd_forget_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t mark) {
    arena->stacks_used = mark;
    slot->stack_length = slot->interrupted_length = slot->outer_length = 0;
    wd_forget_python_stack(arena, slot);
    memset(slot->thread.registers, 0, sizeof slot->thread.registers);
    slot->thread.register_source = WD_REGISTERS_NONE;
}

/* An interrupted thread stops before it returns to user mode. So it is still where it was blocked when its facts
 * were read, unless it returned in between; but /proc shows it as running. A thread that has had no CPU since then
 * has not returned. One that has had a CPU, and has not blocked since, was probably about to stop. */
static bool read_starved_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap) {
    struct wd_thread *thread = &slot->thread;
    char schedstat[128], text[sizeof thread->syscall_text];
    if (slot->trace != WD_TRACED || !wd_parse_syscall(thread->syscall_text, thread)) return false;
    size_t mark = arena->stacks_used;
    wd_copy_stack(arena, slot, cap);
    wd_read_python_stack(arena, slot);
    read_position(arena, thread->tid, schedstat, text);
    if (schedstat[0] != '\0' && strtoull(schedstat, NULL, 10) == thread->run_ns) return true;
    if (wd_count_blocks(arena, thread->tid) == thread->voluntary_switches) return true;
    wd_forget_stack(arena, slot, mark);
    return false;
}

/* The stack of a thread that is not stopped is stable only while the thread stays blocked. So this compares where it
 * is blocked before and after the copy; if the thread has moved, the copy is discarded. */
void wd_read_unstopped_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap) {
    struct wd_thread *thread = &slot->thread;
    if (arena->denied_syscall || thread->state == 'Z' || thread->state == 'X') return;
    char accounting[2][128];
    char text[2][sizeof thread->syscall_text];
    if (!read_position(arena, thread->tid, accounting[0], text[0])) return;
    if (strcmp(text[0], "running") == 0 && read_starved_stack(arena, slot, cap)) return;
    for (int attempt = 0; attempt < 3; attempt++) {
        size_t mark = arena->stacks_used;
        if (!wd_parse_syscall(text[0], thread)) return;
        wd_copy_stack(arena, slot, cap);
        wd_read_python_stack(arena, slot);
        if (!read_position(arena, thread->tid, accounting[1], text[1])) text[1][0] = '\0';
        if (strcmp(text[0], text[1]) == 0 && strcmp(accounting[0], accounting[1]) == 0) {
            memcpy(thread->syscall_text, text[0], sizeof thread->syscall_text);
            return;
        }
        wd_forget_stack(arena, slot, mark);
        memcpy(accounting[0], accounting[1], sizeof accounting[0]);
        memcpy(text[0], text[1], sizeof text[0]);
    }
}
