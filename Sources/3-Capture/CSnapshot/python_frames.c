/* SPDX-License-Identifier: Apache-2.0
 *
 * The frames that CPython evaluates in each thread, as chains of structures on the heap: interpreters, thread
 * states, frames, code objects and their strings. Each structure is copied with one bounded read, because its
 * address may be garbage. The length of each chain is bounded too, so that a cycle ends.
 *
 * A thread state is matched to its thread by the result of pthread_self(3), which is the FS base. Without that
 * register, it is matched by the kernel's id in the process's own PID namespace.
 */
#include "internal.h"

#include <string.h>

/* In CPU time: waiting for a CPU must not cost frames. */
static const uint64_t freeze_budget = 3000000;
static const uint64_t sample_budget = 2000000;
static const uint64_t moving_budget = 50000000; /* for all running threads, per capture or look */
/* The same in wall time: each page may come from a disk. */
static const uint64_t patience = 100000000, moving_patience = 250000000;

enum { most_interpreters = 16, most_threads = 4096, text_block = 256, table_block = 512 };

static bool read_all(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length) {
    return address != 0 && wd_read_memory(arena, address, buffer, length) == length;
}

static bool has_type(const struct wd_snapshot_arena *arena, const uint8_t *object, uint64_t type) {
    return type == 0 || wd_word(object, arena->interpreter.layout->type) == type;
}

static void cut(struct wd_snapshot_arena *arena) {
    arena->interpreter.python.reading = WD_PYTHON_CUT;
}

static void begin(struct wd_snapshot_arena *arena, uint64_t budget) {
    arena->interpreter.began = wd_now();
    arena->interpreter.cpu_began = wd_cpu_now();
    arena->interpreter.budget = budget;
}

/* Called for each frame: CPU time cannot exceed wall time, so the costlier CPU clock is read only after the budget
 * in wall time. A thread that continues is stopped only until its deadline, however little was read. */
static bool has_time(const struct wd_snapshot_arena *arena) {
    const struct wd_interpreter *interpreter = &arena->interpreter;
    uint64_t now = wd_now(), passed = now - interpreter->began;
    if (arena->stop_deadline != 0 && now > arena->stop_deadline) return false;
    if (passed <= interpreter->budget) return true;
    return passed <= wd_patience(arena, patience) && wd_cpu_now() - interpreter->cpu_began <= interpreter->budget;
}

/* A sample is one of many, so the snapshot does not record that it was cut. */
static bool is_late(struct wd_snapshot_arena *arena) {
    if (has_time(arena)) return false;
    if (!arena->interpreter.changes) cut(arena);
    return true;
}

/* Appends `length` bytes at the address, of which `block` has the first `present`; false without room. */
static bool append(struct wd_snapshot_arena *arena, uint64_t address, uint32_t length, const uint8_t *block,
                   size_t present) {
    struct wd_interpreter *interpreter = &arena->interpreter;
    if (length > WD_PYTHON_CAPACITY - interpreter->bytes_used) {
        cut(arena);
        return false;
    }
    uint8_t *target = arena->python_bytes + interpreter->bytes_used;
    if (length <= present) memcpy(target, block, length);
    else if (!read_all(arena, address, target, length)) return false;
    interpreter->bytes_used += length;
    return true;
}

/* A string's state: 2 bits for interning, 3 for the bytes per character, then one each for compact and ASCII. */
static uint32_t copy_text(struct wd_snapshot_arena *arena, uint64_t address, uint8_t *kind) {
    const struct wd_python_layout *layout = arena->interpreter.layout;
    uint8_t block[text_block] = {0};
    size_t got = address == 0 ? 0 : wd_read_memory(arena, address, block, sizeof block);
    *kind = 1;
    if (got < layout->compact_data || !has_type(arena, block, arena->interpreter.text_type)) return 0;
    uint64_t characters = wd_word(block, layout->text_length);
    uint32_t state = (uint32_t)wd_word(block, layout->text_state);
    uint32_t width = state >> 2 & 7;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4) || (ascii && width != 1)) return 0;
    uint32_t data = ascii ? layout->ascii_data : layout->compact_data;
    if (characters > WD_PYTHON_NAME_BYTES / width) characters = WD_PYTHON_NAME_BYTES / width;
    uint32_t length = (uint32_t)characters * width;
    if (!append(arena, address + data, length, block + data, got - data)) return 0;
    *kind = (uint8_t)width;
    return length;
}

static uint32_t copy_table(struct wd_snapshot_arena *arena, uint64_t address) {
    const struct wd_python_layout *layout = arena->interpreter.layout;
    uint8_t block[table_block] = {0};
    size_t got = address == 0 ? 0 : wd_read_memory(arena, address, block, sizeof block);
    if (got < layout->bytes_data || !has_type(arena, block, arena->interpreter.bytes_type)) return 0;
    uint64_t length = wd_word(block, layout->bytes_length);
    if (length > WD_PYTHON_TABLE_BYTES) length = WD_PYTHON_TABLE_BYTES;
    bool copied = append(arena, address + layout->bytes_data, (uint32_t)length, block + layout->bytes_data,
                         got - layout->bytes_data);
    return copied ? (uint32_t)length : 0;
}

/* The index of the code object's copy; UINT32_MAX for anything else, or without room. */
static uint32_t copy_code(struct wd_snapshot_arena *arena, uint64_t address) {
    struct wd_interpreter *interpreter = &arena->interpreter;
    const struct wd_python_layout *layout = interpreter->layout;
    uint8_t object[WD_PYTHON_CODE];
    bool is_read = false;
    size_t place = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 51);
    for (uint16_t index; (index = arena->python_slots[place]) != 0; place = (place + 1) % WD_PYTHON_CODE_SLOTS) {
        const struct wd_python_copy *copy = &arena->python_codes[index - 1];
        if (copy->address != address) continue;
        if (!interpreter->changes) return index - 1u;
        if (!is_read && !read_all(arena, address, object, sizeof object)) return UINT32_MAX;
        is_read = true;
        if (wd_word(object, layout->name) == copy->parts[0] && wd_word(object, layout->file) == copy->parts[1]
            && wd_word(object, layout->table) == copy->parts[2])
            return index - 1u;
    }
    if (interpreter->code_count == WD_PYTHON_MAX_CODES) {
        cut(arena);
        return UINT32_MAX;
    }
    if (!is_read && !read_all(arena, address, object, sizeof object)) return UINT32_MAX;
    if (!has_type(arena, object, interpreter->code_type)) return UINT32_MAX;
    size_t index = interpreter->code_count++;
    struct wd_python_copy *copy = &arena->python_codes[index];
    *copy = (struct wd_python_copy){
        .address = address,
        .parts = {wd_word(object, layout->name), wd_word(object, layout->file), wd_word(object, layout->table)},
        .offset = interpreter->bytes_used,
    };
    memcpy(&copy->code.first_line, object + layout->first_line, sizeof copy->code.first_line);
    copy->code.name_length = copy_text(arena, copy->parts[0], &copy->code.name_kind);
    copy->code.file_length = copy_text(arena, copy->parts[1], &copy->code.file_kind);
    copy->code.table_length = copy_table(arena, copy->parts[2]);
    copy->length = (uint32_t)(interpreter->bytes_used - copy->offset);
    arena->python_slots[place] = (uint16_t)(index + 1);
    return (uint32_t)index;
}
_Static_assert(WD_PYTHON_CODE_SLOTS == 1 << 13, "copy_code keeps 13 bits");

/* FRAME_OWNED_BY_CSTACK of pycore_frame.h: a frame without code, below those of one call of the evaluator. */
enum { owned_by_c_stack = 3 };

static int32_t instruction(const struct wd_python_layout *layout, uint64_t code, uint64_t pointer) {
    if (layout->instruction_bytes != 0) {
        int32_t index = (int32_t)pointer;
        return index < 0 ? -1 : index / (2 / (int32_t)layout->instruction_bytes);
    }
    int64_t units = ((int64_t)(pointer - code - layout->bytecode)) / 2;
    return units < -1 || units > INT32_MAX ? -1 : (int32_t)units;
}

/* Most frames of a thread lie side by side, callers before their callees: one read copies a page of them. */
struct window {
    uint64_t start;
    size_t length;
    uint8_t bytes[4096 + WD_PYTHON_FRAME];
};

/* Whether a structure is on the machine stack, which is already copied. */
static bool is_on_stack(struct wd_snapshot_arena *arena, const struct wd_slot *slot, uint64_t address, void *buffer,
                        size_t length) {
    uint64_t offset = address - slot->stack_address;
    if (address < slot->stack_address || slot->stack_length < length || offset > slot->stack_length - length)
        return false;
    memcpy(buffer, arena->stacks + slot->stack_offset + offset, length);
    return true;
}

static bool read_frame(struct wd_snapshot_arena *arena, const struct wd_slot *slot, struct window *window,
                       uint64_t address, uint8_t *block) {
    const size_t length = arena->interpreter.layout->frame_length;
    if (is_on_stack(arena, slot, address, block, length)) return true;
    if (address > UINT64_MAX - 8192) return false;
    if (address < window->start || address + length > window->start + window->length) {
        window->start = address & ~UINT64_C(4095);
        size_t wanted = (size_t)(address - window->start) + length;
        window->length = wd_read_memory(arena, window->start, window->bytes, wanted);
        if (window->length != wanted) return false;
    }
    memcpy(block, window->bytes + (address - window->start), length);
    return true;
}

static void copy_frames(struct wd_snapshot_arena *arena, struct wd_slot *slot, uint64_t frame) {
    struct wd_interpreter *interpreter = &arena->interpreter;
    const struct wd_python_layout *layout = interpreter->layout;
    struct wd_python_frame *frames = arena->python_frames + interpreter->frame_count;
    size_t room = WD_PYTHON_MAX_FRAMES - interpreter->frame_count;
    if (room > WD_PYTHON_STACK_FRAMES) room = WD_PYTHON_STACK_FRAMES;
    uint32_t count = 0;
    struct window window = {.length = 0};
    bool is_bounded = true; /* the previous frame was the outermost of its call */
    for (uint8_t block[WD_PYTHON_FRAME]; frame != 0; frame = wd_word(block, layout->previous)) {
        if (is_late(arena)) break;
        if (count == room) {
            cut(arena);
            break;
        }
        if (!read_frame(arena, slot, &window, frame, block)) break;
        if (!layout->each_is_entry && layout->is_entry == UINT32_MAX && block[layout->owner] == owned_by_c_stack) {
            if (is_bounded) frames[count++] = (struct wd_python_frame){UINT32_MAX, -1, WD_PYTHON_ENTRY};
            else frames[count - 1].flags = WD_PYTHON_ENTRY;
            is_bounded = true;
            continue;
        }
        uint64_t code = wd_word(block, layout->code);
        bool is_entry = layout->each_is_entry || (layout->is_entry != UINT32_MAX && block[layout->is_entry] != 0);
        frames[count++] = (struct wd_python_frame){
            .code = copy_code(arena, code),
            .instruction = instruction(layout, code, wd_word(block, layout->instruction)),
            .flags = is_entry ? WD_PYTHON_ENTRY : 0,
        };
        is_bounded = is_entry;
    }
    slot->python_first = (uint32_t)interpreter->frame_count;
    slot->python_count = count;
    interpreter->frame_count += count;
}

static void copy_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, const uint8_t *thread) {
    const struct wd_python_layout *layout = arena->interpreter.layout;
    uint64_t current = wd_word(thread, layout->current);
    if (layout->current_in_cframe != UINT32_MAX) {
        uint64_t address = current + layout->current_in_cframe;
        if (current == 0
            || (!is_on_stack(arena, slot, address, &current, sizeof current)
                && !read_all(arena, address, &current, sizeof current)))
            return;
    }
    copy_frames(arena, slot, current);
}

/* The thread of a thread state: its FS base is the state's pthread_t. */
static struct wd_slot *find_thread(struct wd_snapshot_arena *arena, const uint8_t *thread) {
    const struct wd_python_layout *layout = arena->interpreter.layout;
    uint64_t pthread = wd_word(thread, layout->pthread);
    uint64_t tid = layout->tid == UINT32_MAX ? UINT64_MAX : wd_word(thread, layout->tid);
    struct wd_slot *likely = tid <= INT32_MAX ? wd_find_thread(arena, (pid_t)tid) : NULL;
    if (likely != NULL && likely->thread.register_source == WD_REGISTERS_PTRACE
        && likely->thread.registers[WD_FS_BASE] == pthread)
        return likely;
    for (size_t i = 0; i < arena->thread_count; i++) {
        struct wd_slot *slot = &arena->slots[i];
        if (slot->thread.register_source == WD_REGISTERS_PTRACE && slot->thread.registers[WD_FS_BASE] == pthread)
            return slot;
    }
    return NULL;
}

/* The thread with this id in its own PID namespace. */
static const struct wd_slot *find_own_thread(const struct wd_snapshot_arena *arena, uint64_t tid) {
    for (size_t i = 0; i < arena->thread_count; i++)
        if (arena->slots[i].own_tid != 0 && (uint64_t)arena->slots[i].own_tid == tid) return &arena->slots[i];
    return NULL;
}

static void find_lock_holder(struct wd_snapshot_arena *arena, uint64_t interpreter) {
    const struct wd_python_layout *layout = arena->interpreter.layout;
    uint64_t lock = (layout->lock_in_runtime ? arena->interpreter.runtime : interpreter) + layout->lock;
    uint64_t holder;
    int32_t locked;
    uint8_t thread[WD_PYTHON_THREAD];
    if (layout->lock_is_pointer && !read_all(arena, lock, &lock, sizeof lock)) return;
    if (!read_all(arena, lock + layout->locked, &locked, sizeof locked) || locked != 1
        || !read_all(arena, lock + layout->lock_holder, &holder, sizeof holder)
        || !read_all(arena, holder, thread, sizeof thread))
        return;
    const struct wd_slot *slot = find_thread(arena, thread);
    if (slot == NULL && layout->tid != UINT32_MAX) slot = find_own_thread(arena, wd_word(thread, layout->tid));
    if (slot != NULL) arena->interpreter.python.lock_holder = slot->thread.tid;
}

/* If the FS base is unknown, match the thread by its namespace-local tid. Addresses of other threads' states are
 * cached, so that those need no search. */
static struct wd_slot *remember(struct wd_snapshot_arena *arena, uint64_t address, const uint8_t *thread,
                                struct wd_slot *only) {
    uint64_t tid = wd_word(thread, arena->interpreter.layout->tid);
    if (tid == (uint64_t)only->own_tid) {
        only->python_thread = address;
        return only;
    }
    struct wd_slot *slot = tid <= INT32_MAX ? wd_find_thread(arena, (pid_t)tid) : NULL;
    if (slot != NULL && slot->python_thread == 0) slot->python_thread = address;
    return NULL;
}

/* Copies the frames of all threads, or of one. */
static void copy_stacks(struct wd_snapshot_arena *arena, struct wd_slot *only) {
    const struct wd_python_layout *layout = arena->interpreter.layout;
    uint64_t next, thread;
    if (!read_all(arena, arena->interpreter.runtime + layout->interpreters, &next, sizeof next)) return;
    size_t threads = 0;
    for (int i = 0; i < most_interpreters && next != 0; i++) {
        uint64_t interpreter = next;
        if (!read_all(arena, interpreter + layout->threads, &thread, sizeof thread)
            || !read_all(arena, interpreter + layout->next_interpreter, &next, sizeof next))
            return;
        if (only == NULL && arena->interpreter.python.lock_holder == 0) find_lock_holder(arena, interpreter);
        for (uint8_t block[WD_PYTHON_THREAD]; thread != 0; thread = wd_word(block, layout->next_thread)) {
            if (is_late(arena)) return;
            if (threads++ == most_threads) {
                cut(arena);
                return;
            }
            if (!read_all(arena, thread, block, sizeof block)) break;
            struct wd_slot *slot = only == NULL ? find_thread(arena, block) : remember(arena, thread, block, only);
            if (slot == NULL || slot->python_count > 0) continue;
            copy_stack(arena, slot, block);
            if (only != NULL) return;
        }
    }
}

/* Copies the frames of all threads, which must be stopped. */
void wd_read_python_stacks(struct wd_snapshot_arena *arena) {
    if (arena->interpreter.layout == NULL) return;
    begin(arena, freeze_budget);
    copy_stacks(arena, NULL);
}

/* Finds the holder of the interpreter's lock in a running process: a snapshot of one moment. */
void wd_find_python_lock_holder(struct wd_snapshot_arena *arena) {
    const struct wd_interpreter *interpreter = &arena->interpreter;
    uint64_t next;
    if (interpreter->layout == NULL
        || !read_all(arena, interpreter->runtime + interpreter->layout->interpreters, &next, sizeof next))
        return;
    for (int i = 0; i < most_interpreters && next != 0 && interpreter->python.lock_holder == 0; i++) {
        find_lock_holder(arena, next);
        if (!read_all(arena, next + interpreter->layout->next_interpreter, &next, sizeof next)) return;
    }
}

/* Drops the frames of a slot, which must be the one that was read last. */
void wd_forget_python_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    if (slot->python_count > 0) arena->interpreter.frame_count = slot->python_first;
    slot->python_count = 0;
}

/* Copies the frames of a thread that does not run, while others may. */
void wd_read_python_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot) {
    struct wd_interpreter *interpreter = &arena->interpreter;
    if (interpreter->layout == NULL || interpreter->layout->tid == UINT32_MAX) return;
    if (interpreter->spent >= moving_budget || interpreter->passed >= wd_patience(arena, moving_patience)) {
        cut(arena);
        return;
    }
    begin(arena, sample_budget);
    interpreter->changes = true;
    if (slot->own_tid == 0) slot->own_tid = wd_own_tid(arena, slot->thread.tid);
    uint8_t block[WD_PYTHON_THREAD];
    if (read_all(arena, slot->python_thread, block, sizeof block)
        && wd_word(block, interpreter->layout->tid) == (uint64_t)slot->own_tid) {
        copy_stack(arena, slot, block);
    } else {
        copy_stacks(arena, slot);
    }
    interpreter->spent += wd_cpu_now() - interpreter->cpu_began;
    interpreter->passed += wd_now() - interpreter->began;
}
