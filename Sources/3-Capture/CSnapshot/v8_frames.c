/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames of JavaScript on each stack. V8's code keeps the frame pointer, and has the function below it; native code, from
 * which it is called and which it calls, often does neither. So each place of a stack that has the form of a frame is tried:
 * an address further out, then one of code, and a function below.
 */
#include "internal.h"

#include <string.h>

/* In CPU time. */
static const uint64_t read_budget = 8000000;

/* The time is looked at after so many bytes of a stack. */
enum { stretch_bytes = 8192 };

/* Where the words of a frame are; the stack is copied. */
static uint64_t word_at(const struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t offset) {
    return wd_word(arena->stacks + slot->stack_offset, offset);
}

static void copy_frames(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    struct wd_v8_runtime *v8 = &arena->v8;
    struct wd_v8_frame *frames = arena->v8_frames + v8->frame_count;
    size_t room = WD_V8_MAX_FRAMES - v8->frame_count, count = 0;
    if (room > WD_V8_STACK_FRAMES) room = WD_V8_STACK_FRAMES;
    /* The function is below the frame pointer, and the return address above it. */
    int32_t below = -v8->layout.frame_function;
    if (below <= 0 || below % 8 != 0) return;
    uint64_t end = slot->stack_address + slot->stack_length, first = (uint64_t)below;
    for (uint64_t offset = first; offset + 16 <= slot->stack_length && count < room; offset += 8) {
        if ((offset - first) % stretch_bytes == 0 && !wd_has_v8_time(arena)) break;
        uint64_t place = slot->stack_address + offset, caller = word_at(arena, slot, offset);
        if (caller <= place || caller >= end || caller % 8 != 0
            || !wd_in_intervals(arena->executables, arena->executable_count, word_at(arena, slot, offset + 8)))
            continue;
        uint32_t function = wd_copy_v8_function(arena, word_at(arena, slot, offset - first));
        if (function != UINT32_MAX) frames[count++] = (struct wd_v8_frame){.bp = place, .function = function};
    }
    if (count == room) v8->v8.reading = WD_V8_CUT;
    slot->v8_first = (uint32_t)v8->frame_count;
    slot->v8_count = (uint32_t)count;
    v8->frame_count += count;
}

void wd_read_v8_stacks(struct wd_snapshot_arena *arena) {
    struct wd_v8_runtime *v8 = &arena->v8;
    if (!v8->is_found || v8->v8.reading != WD_V8_READ) return;
    wd_begin_paged(arena, read_budget);
    for (size_t i = 0; i < arena->thread_count && wd_has_v8_time(arena); i++)
        if (arena->slots[i].stack_length > 0) copy_frames(arena, &arena->slots[i]);
}
