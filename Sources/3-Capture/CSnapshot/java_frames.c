/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames of Java in each thread. A thread that is not executing Java's code has left a note of where it left it, its
 * anchor; one that executes it has its registers. From there on, frames of the interpreter are found by their frame
 * pointers, and those of compiled code by their sizes: compilers use the frame pointer for something else.
 *
 * Where native code has called Java's, the stub between them leads to the next anchor, and to the registers with which the
 * native code goes on: a boundary.
 */
#include "internal.h"

#include <string.h>

/* In CPU time. */
static const uint64_t read_budget = 8000000;

enum {
    most_threads = 4096, most_heaps = 8, most_scopes = 64, most_hops = 4096, heap_bytes = 512,
    segment_is_free = 0xff, most_shift = 16,
    /* In words from the frame pointer: frame_x86.hpp. */
    sender_sp = -1, interpreted_method = -3, interpreted_code = -8, call_wrapper = -6,
    leaf_words = 256,
    /* ObjectMonitor::ANONYMOUS_OWNER and LockStack::CAPACITY. */
    anonymous_owner = 1, locked_objects = 8,
};
_Static_assert(heap_bytes <= sizeof((struct wd_snapshot_arena *)0)->scratch && most_heaps == WD_JAVA_HEAPS, "a heap fits");

struct cursor {
    uint64_t pc, sp, fp;
    uint64_t code; /* of the interpreter, from its register; 0: it is in the frame */
    bool is_running; /* the registers of a thread that executes Java's code: pc is after no call */
    bool is_leaf;    /* pc is after a call of which the tables may know nothing */
};

/* A word of the stack, most of which is copied already. */
static bool read_word(struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t address, uint64_t *value) {
    uint64_t offset = address - slot->stack_address;
    if (address >= slot->stack_address && slot->stack_length >= sizeof *value && offset <= slot->stack_length - sizeof *value) {
        memcpy(value, arena->stacks + slot->stack_offset + offset, sizeof *value);
        return true;
    }
    return wd_read_paged(arena, address, value, sizeof *value);
}

static bool read_slot(struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t fp, int place, uint64_t *value) {
    return read_word(arena, slot, fp + (uint64_t)(int64_t)place * sizeof *value, value);
}

/* -- Code -- */

static void read_heaps(struct wd_snapshot_arena *arena) {
    struct wd_java_runtime *java = &arena->java;
    const struct wd_java_layout *layout = &java->layout;
    uint64_t list, data, heaps[most_heaps];
    uint64_t length_offset = layout->heaps_length != WD_JAVA_ABSENT ? layout->heaps_length : layout->heaps_length_before_17;
    uint32_t count;
    if (length_offset == WD_JAVA_ABSENT || !wd_read_paged(arena, layout->heaps, &list, sizeof list)
        || !wd_read_paged(arena, list + length_offset, &count, sizeof count) || count > most_heaps
        || !wd_read_paged(arena, list + layout->heaps_data, &data, sizeof data)
        || !wd_read_paged(arena, data, heaps, count * sizeof heaps[0]))
        return;
    for (size_t i = 0; i < count; i++) {
        struct wd_java_heap *heap = &java->heaps[java->heap_count];
        if (wd_read_paged(arena, heaps[i] + layout->heap_memory + layout->space_low, &heap->low, sizeof heap->low)
            && wd_read_paged(arena, heaps[i] + layout->heap_memory + layout->space_high, &heap->high, sizeof heap->high)
            && wd_read_paged(arena, heaps[i] + layout->heap_map + layout->space_low, &heap->map, sizeof heap->map)
            && wd_read_paged(arena, heaps[i] + layout->heap_shift, &heap->shift, sizeof heap->shift) && heap->shift <= most_shift)
            java->heap_count++;
    }
}

static void read_stubs(struct wd_snapshot_arena *arena) {
    struct wd_java_runtime *java = &arena->java;
    const struct wd_java_layout *layout = &java->layout;
    uint64_t queue;
    uint32_t length;
    wd_read_paged(arena, layout->call_return, &java->call_return, sizeof java->call_return);
    if (wd_read_paged(arena, layout->interpreter_code, &queue, sizeof queue)
        && wd_read_paged(arena, queue + layout->queue_start, &java->interpreter_start, sizeof java->interpreter_start)
        && wd_read_paged(arena, queue + layout->queue_length, &length, sizeof length))
        java->interpreter_end = java->interpreter_start + length;
}

static bool is_interpreted(const struct wd_java_runtime *java, uint64_t pc) {
    return pc >= java->interpreter_start && pc < java->interpreter_end;
}

static bool use_blob(struct wd_snapshot_arena *arena, uint64_t address) {
    static const char method[] = "nmethod", native[] = "native nmethod";
    struct wd_java_runtime *java = &arena->java;
    const struct wd_java_layout *layout = &java->layout;
    char name[sizeof native] = "";
    uint32_t offset;
    java->blob_address = 0;
    memset(java->blob, 0, sizeof java->blob);
    if (!wd_read_paged(arena, address, java->blob, sizeof java->blob)) return false;
    wd_read_paged(arena, wd_word(java->blob, layout->blob_name), name, sizeof name);
    java->blob_is_method = memcmp(name, method, sizeof method) == 0 || memcmp(name, native, sizeof native) == 0;
    if (layout->blob_code != WD_JAVA_ABSENT) {
        java->blob_code = wd_word(java->blob, layout->blob_code);
    } else if (layout->blob_code_offset != WD_JAVA_ABSENT) {
        memcpy(&offset, java->blob + layout->blob_code_offset, sizeof offset);
        java->blob_code = address + offset;
    } else {
        return false;
    }
    java->blob_address = address;
    return true;
}

static uint64_t blob_end(const struct wd_java_runtime *java) {
    uint32_t size;
    memcpy(&size, java->blob + java->layout.blob_size, sizeof size);
    return java->blob_address + size;
}

/* Finds the blob of code at an address: the map has, for each segment, how many segments before it its block may begin. */
static bool find_blob(struct wd_snapshot_arena *arena, uint64_t pc) {
    struct wd_java_runtime *java = &arena->java;
    if (java->blob_address != 0 && pc >= java->blob_address && pc < blob_end(java)) return true;
    for (size_t i = 0; i < java->heap_count; i++) {
        const struct wd_java_heap *heap = &java->heaps[i];
        if (pc < heap->low || pc >= heap->high) continue;
        uint64_t segment = (pc - heap->low) >> heap->shift;
        uint8_t back = 0;
        for (int hop = 0; hop < most_hops; hop++) {
            if (!wd_read_paged(arena, heap->map + segment, &back, sizeof back) || back == segment_is_free || back > segment) return false;
            if (back == 0) return use_blob(arena, heap->low + (segment << heap->shift) + java->layout.heap_block_size);
            segment -= back;
        }
    }
    return false;
}

/* -- Frames -- */

/* Where a list of frames goes. */
struct stack {
    struct wd_java_frame *frames;
    size_t count, room;
};

static void append(struct stack *stack, struct wd_java_frame frame) {
    if (stack->count < stack->room) stack->frames[stack->count++] = frame;
}

static void append_method(struct wd_snapshot_arena *arena, struct stack *stack, uint64_t pc, uint64_t address, uint64_t code,
                          int32_t instruction) {
    uint32_t method = wd_copy_java_method(arena, address);
    if (method == UINT32_MAX) return;
    const struct wd_java_method_copy *copy = &arena->java_methods[method];
    if (code != 0) instruction = code >= copy->code && code - copy->code < copy->code_size ? (int32_t)(code - copy->code) : -1;
    append(stack, (struct wd_java_frame){
        .pc = pc, .method = method, .line = wd_find_java_line(arena, method, instruction)});
}

static bool leave_interpreted(struct wd_snapshot_arena *arena, const struct wd_slot *slot, struct stack *stack, struct cursor *cursor) {
    uint64_t method, code, pc, sp, fp;
    if (!read_slot(arena, slot, cursor->fp, interpreted_method, &method) || !read_slot(arena, slot, cursor->fp, interpreted_code, &code)
        || !read_slot(arena, slot, cursor->fp, sender_sp, &sp) || !read_slot(arena, slot, cursor->fp, 0, &fp)
        || !read_slot(arena, slot, cursor->fp, 1, &pc))
        return false;
    append_method(arena, stack, cursor->pc, method, cursor->code != 0 ? cursor->code : code, -1);
    *cursor = (struct cursor){.pc = pc, .sp = sp, .fp = fp};
    return true;
}

/* Before a method is left for the interpreter, the address to which a call of it returns becomes that of a handler, and the
 * frame keeps the one that the tables know. */
static uint64_t original_pc(struct wd_snapshot_arena *arena, const struct wd_slot *slot, const struct cursor *cursor) {
    const struct wd_java_runtime *java = &arena->java;
    const struct wd_java_layout *layout = &java->layout;
    uint64_t handler = 0, pc;
    uint32_t offset;
    if (layout->original_pc == WD_JAVA_ABSENT) return cursor->pc;
    if (layout->deoptimization != WD_JAVA_ABSENT) {
        handler = wd_word(java->blob, layout->deoptimization);
    } else if (layout->deoptimization_offset != WD_JAVA_ABSENT) {
        memcpy(&offset, java->blob + layout->deoptimization_offset, sizeof offset);
        handler = java->blob_address + offset;
    }
    memcpy(&offset, java->blob + layout->original_pc, sizeof offset);
    return cursor->pc == handler && read_word(arena, slot, cursor->sp + offset, &pc) ? pc : cursor->pc;
}

static bool leave_compiled(struct wd_snapshot_arena *arena, const struct wd_slot *slot, struct stack *stack, struct cursor *cursor) {
    const struct wd_java_runtime *java = &arena->java;
    struct wd_java_place places[most_scopes];
    int32_t size;
    int16_t complete; /* 32 bits before version 23, but no code needs them to enter its frame */
    memcpy(&size, java->blob + java->layout.blob_frame, sizeof size);
    memcpy(&complete, java->blob + java->layout.blob_complete, sizeof complete);
    bool is_incomplete = cursor->is_running && complete > 0 && cursor->pc - java->blob_code < (uint64_t)complete;
    if (java->blob_is_method) {
        size_t count = wd_read_java_scopes(arena, original_pc(arena, slot, cursor), !cursor->is_running && !cursor->is_leaf, places, most_scopes);
        for (size_t i = 0; i < count; i++) append_method(arena, stack, cursor->pc, places[i].method, 0, places[i].instruction);
    }
    struct cursor next = {.fp = cursor->fp};
    bool is_read;
    if (is_incomplete && java->blob_is_method) {
        next.sp = cursor->sp + sizeof next.pc;
        is_read = read_word(arena, slot, cursor->sp, &next.pc);
    } else if (size > 0) {
        next.sp = cursor->sp + (uint64_t)size * sizeof next.pc;
        is_read = read_word(arena, slot, next.sp - sizeof next.pc, &next.pc)
                  && read_word(arena, slot, next.sp - 2 * sizeof next.pc, &next.fp);
    } else {
        /* A stub, which keeps the frame pointer. */
        next.sp = cursor->fp + 2 * sizeof next.pc;
        is_read = read_slot(arena, slot, cursor->fp, 1, &next.pc) && read_slot(arena, slot, cursor->fp, 0, &next.fp);
    }
    *cursor = next;
    return is_read;
}

/* Reads an anchor; false without frames of Java. */
static bool read_anchor(struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t anchor, struct cursor *cursor) {
    const struct wd_java_layout *layout = &arena->java.layout;
    *cursor = (struct cursor){.pc = 0};
    return wd_read_paged(arena, anchor + layout->anchor_sp, &cursor->sp, sizeof cursor->sp) && cursor->sp != 0
           && wd_read_paged(arena, anchor + layout->anchor_fp, &cursor->fp, sizeof cursor->fp)
           && wd_read_paged(arena, anchor + layout->anchor_pc, &cursor->pc, sizeof cursor->pc)
           && (cursor->pc != 0 || read_word(arena, slot, cursor->sp - sizeof cursor->pc, &cursor->pc));
}

static bool leave_stub(struct wd_snapshot_arena *arena, const struct wd_slot *slot, struct stack *stack, struct cursor *cursor) {
    struct wd_java_frame boundary = {.sp = cursor->fp + 16, .method = UINT32_MAX};
    uint64_t wrapper;
    if (!read_slot(arena, slot, cursor->fp, 1, &boundary.pc) || !read_slot(arena, slot, cursor->fp, 0, &boundary.bp)
        || !read_slot(arena, slot, cursor->fp, call_wrapper, &wrapper))
        return false;
    append(stack, boundary);
    return read_anchor(arena, slot, wrapper + arena->java.layout.wrapper_anchor, cursor);
}

static bool has_time(struct wd_snapshot_arena *arena) {
    struct wd_java_runtime *java = &arena->java;
    if (!wd_is_paged_over(arena)) return true;
    java->java.reading = WD_JAVA_CUT;
    return false;
}

/* Returns whether the outer end was found: native code that has called Java's. */
static bool copy_frames(struct wd_snapshot_arena *arena, struct wd_slot *slot, struct cursor cursor) {
    struct wd_java_runtime *java = &arena->java;
    struct stack stack = {.frames = arena->java_frames + java->frame_count, .room = WD_JAVA_MAX_FRAMES - java->frame_count};
    if (stack.room > WD_JAVA_STACK_FRAMES) stack.room = WD_JAVA_STACK_FRAMES;
    uint64_t previous = 0;
    /* Toward the outer end of the stack: a cycle ends. */
    while (cursor.sp > previous && stack.count < stack.room && has_time(arena)) {
        previous = cursor.sp;
        bool goes_on = cursor.pc == java->call_return          ? leave_stub(arena, slot, &stack, &cursor)
                       : is_interpreted(java, cursor.pc)       ? leave_interpreted(arena, slot, &stack, &cursor)
                       : find_blob(arena, cursor.pc)           ? leave_compiled(arena, slot, &stack, &cursor)
                                                               : false;
        if (!goes_on) break;
    }
    if (stack.count == stack.room) java->java.reading = WD_JAVA_CUT;
    slot->java_first = (uint32_t)java->frame_count;
    slot->java_count = (uint32_t)stack.count;
    java->frame_count += stack.count;
    return stack.count > 0 && stack.frames[stack.count - 1].method == UINT32_MAX;
}

static bool is_compiled_method(struct wd_snapshot_arena *arena, uint64_t pc) {
    return find_blob(arena, pc) && arena->java.blob_is_method && pc > arena->java.blob_code;
}

/* A thread that has called a function of the virtual machine which returns soon, such as System.nanoTime(), has no anchor.
 * The first address on its stack that leads to an outer end is that of its caller. */
static void copy_frames_of_leaf(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    struct wd_java_runtime *java = &arena->java;
    const uint64_t *registers = slot->thread.registers;
    uint64_t pc;
    for (uint64_t i = 0; i < leaf_words && has_time(arena); i++) {
        uint64_t place = registers[WD_RSP] + i * sizeof pc;
        if (!read_word(arena, slot, place, &pc)) return;
        if (!is_compiled_method(arena, pc)) continue;
        if (copy_frames(arena, slot, (struct cursor){.pc = pc, .sp = place + sizeof pc, .fp = registers[WD_RBP], .is_leaf = true}))
            return;
        java->frame_count = slot->java_first;
        slot->java_count = 0;
    }
}

/* -- Threads -- */

/* A word of a structure, whose field has one of two names; false if this version has neither. */
static bool read_field(struct wd_snapshot_arena *arena, uint64_t address, uint64_t field, uint64_t other, uint64_t *value) {
    if (field == WD_JAVA_ABSENT) field = other;
    return field != WD_JAVA_ABSENT && wd_read_paged(arena, address + field, value, sizeof *value);
}

static bool read_bounds(struct wd_snapshot_arena *arena, uint64_t thread, uint64_t *base, uint64_t *size) {
    const struct wd_java_layout *layout = &arena->java.layout;
    return read_field(arena, thread, layout->stack_base, layout->stack_base_of_thread, base)
           && read_field(arena, thread, layout->stack_size, layout->stack_size_of_thread, size);
}

/* The thread whose stack pointer is in the stack of a thread of Java. */
static struct wd_slot *find_slot(struct wd_snapshot_arena *arena, uint64_t thread) {
    uint64_t base, size;
    if (!read_bounds(arena, thread, &base, &size)) return NULL;
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        uint64_t pointer = slot->thread.registers[WD_RSP];
        if (slot->thread.register_source != WD_REGISTERS_NONE && pointer < base && base - pointer <= size) return slot;
    }
    return NULL;
}

static void read_thread(struct wd_snapshot_arena *arena, uint64_t thread) {
    struct wd_slot *slot = find_slot(arena, thread);
    struct cursor cursor;
    if (slot == NULL || slot->java_thread != 0) return;
    slot->java_thread = thread;
    const uint64_t *registers = slot->thread.registers;
    if (read_anchor(arena, slot, thread + arena->java.layout.thread_anchor, &cursor)) {
        copy_frames(arena, slot, cursor);
    } else if (slot->thread.register_source != WD_REGISTERS_PTRACE) {
        /* It has called no native code, so it is not blocked. */
    } else if (is_interpreted(&arena->java, registers[WD_RIP]) || find_blob(arena, registers[WD_RIP])) {
        cursor = (struct cursor){.pc = registers[WD_RIP], .sp = registers[WD_RSP], .fp = registers[WD_RBP],
                                 .code = registers[WD_R13], .is_running = true};
        copy_frames(arena, slot, cursor);
    } else {
        copy_frames_of_leaf(arena, slot);
    }
}

/* The object of a lock; 0 if it is unknown. */
static uint64_t lock_object(struct wd_snapshot_arena *arena, uint64_t monitor) {
    uint64_t handle, object;
    return read_field(arena, monitor, arena->java.layout.monitor_object, WD_JAVA_ABSENT, &handle)
                   && wd_read_paged(arena, handle, &object, sizeof object)
               ? object : 0;
}

/* Whether a thread has locked an object before anybody waited for it: its own list of such objects has it. */
static bool has_locked(struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t object) {
    const struct wd_java_layout *layout = &arena->java.layout;
    uint64_t objects[locked_objects];
    uint32_t top; /* from the start of the thread's structure */
    if (object == 0 || layout->lock_stack == WD_JAVA_ABSENT || layout->lock_stack_base == WD_JAVA_ABSENT
        || layout->lock_stack_top == WD_JAVA_ABSENT)
        return false;
    uint64_t base = layout->lock_stack + layout->lock_stack_base;
    if (!wd_read_paged(arena, slot->java_thread + layout->lock_stack + layout->lock_stack_top, &top, sizeof top) || top <= base)
        return false;
    size_t length = top - base < sizeof objects ? (size_t)(top - base) : sizeof objects;
    if (!wd_read_paged(arena, slot->java_thread + base, objects, length)) return false;
    for (size_t i = 0; i < length / sizeof objects[0]; i++)
        if (objects[i] == object) return true;
    return false;
}

/* Whether a lock belongs to a thread. It has the thread's address or, since version 24, its number; if it was taken before
 * anybody waited for it, an address in the thread's stack or, since version 21, only the mark that somebody has it. */
static bool is_owner(struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t monitor, uint64_t owner) {
    uint64_t number, base, size;
    if (slot->java_thread == 0) return false;
    if (owner == anonymous_owner) return has_locked(arena, slot, lock_object(arena, monitor));
    if (read_field(arena, slot->java_thread, arena->java.layout.owner_id, WD_JAVA_ABSENT, &number)) return owner == number;
    return owner == slot->java_thread
           || (read_bounds(arena, slot->java_thread, &base, &size) && owner < base && base - owner <= size);
}

static void find_lock_owners(struct wd_snapshot_arena *arena) {
    const struct wd_java_layout *layout = &arena->java.layout;
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        uint64_t monitor, owner;
        if (slot->java_thread == 0 || !has_time(arena)
            || !read_field(arena, slot->java_thread, layout->pending_monitor, layout->pending_monitor_before_17, &monitor)
            || monitor == 0 || !read_field(arena, monitor, layout->monitor_owner, WD_JAVA_ABSENT, &owner) || owner == 0
            /* It has got it, and has not taken note of that yet. */
            || is_owner(arena, slot, monitor, owner))
            continue;
        for (size_t j = 0; j < arena->thread_count && slot->java_lock_owner == 0; j++)
            if (is_owner(arena, &arena->slots[j], monitor, owner)) slot->java_lock_owner = arena->slots[j].thread.tid;
    }
}

static void read_list(struct wd_snapshot_arena *arena) {
    const struct wd_java_layout *layout = &arena->java.layout;
    uint64_t list, threads, thread;
    uint32_t length;
    if (!wd_read_paged(arena, layout->list, &list, sizeof list) || !wd_read_paged(arena, list + layout->list_length, &length, sizeof length)
        || !wd_read_paged(arena, list + layout->list_threads, &threads, sizeof threads))
        return;
    for (uint32_t i = 0; i < length && i < most_threads && has_time(arena); i++)
        if (wd_read_paged(arena, threads + i * sizeof thread, &thread, sizeof thread)) read_thread(arena, thread);
}

/* Before version 13. */
static void read_chain(struct wd_snapshot_arena *arena) {
    const struct wd_java_layout *layout = &arena->java.layout;
    uint64_t thread;
    if (!wd_read_paged(arena, layout->first_thread, &thread, sizeof thread)) return;
    for (int i = 0; thread != 0 && i < most_threads && has_time(arena); i++) {
        read_thread(arena, thread);
        if (!wd_read_paged(arena, thread + layout->next_thread, &thread, sizeof thread)) return;
    }
}

void wd_read_java_stacks(struct wd_snapshot_arena *arena) {
    struct wd_java_runtime *java = &arena->java;
    if (!java->is_found || java->java.reading != WD_JAVA_READ) return;
    wd_begin_paged(arena, read_budget);
    read_stubs(arena);
    read_heaps(arena);
    if (java->layout.list != WD_JAVA_ABSENT) read_list(arena);
    else read_chain(arena);
    find_lock_owners(arena);
}
