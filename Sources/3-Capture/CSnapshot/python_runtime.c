/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the state of a process's CPython interpreter. No thread is stopped yet.
 *
 * The layouts of 3.9 to 3.12 are offsetof() of the structures in CPython's Include/cpython and Include/internal;
 * they did not change between releases of one minor version. 3.13 describes its own layout: struct _Py_DebugOffsets
 * in Include/internal/pycore_runtime.h is the head of _PyRuntime, and its own layout is that of one minor version.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

static const struct wd_python_layout layout_3_9 = {
    .interpreters = 32, .next_interpreter = 0, .threads = 8,
    .next_thread = 8, .pthread = 176, .tid = UINT32_MAX, .current = 24, .current_in_cframe = UINT32_MAX,
    .frame_length = 112, .code = 32, .instruction = 104, .previous = 24, .is_entry = UINT32_MAX, .instruction_bytes = 1, .each_is_entry = true,
    .file = 104, .name = 112, .first_line = 40, .table = 120,
    .type = 8, .bytes_length = 16, .bytes_data = 32,
    .text_length = 16, .text_state = 32, .ascii_data = 48, .compact_data = 72,
    .lock = 352, .lock_in_runtime = true, .lock_holder = 8, .locked = 16,
};

static const struct wd_python_layout layout_3_10 = {
    .interpreters = 32, .next_interpreter = 0, .threads = 8,
    .next_thread = 8, .pthread = 176, .tid = UINT32_MAX, .current = 24, .current_in_cframe = UINT32_MAX,
    .frame_length = 112, .code = 32, .instruction = 96, .previous = 24, .is_entry = UINT32_MAX, .instruction_bytes = 2, .each_is_entry = true,
    .file = 104, .name = 112, .first_line = 40, .table = 120,
    .type = 8, .bytes_length = 16, .bytes_data = 32,
    .text_length = 16, .text_state = 32, .ascii_data = 48, .compact_data = 72,
    .lock = 352, .lock_in_runtime = true, .lock_holder = 8, .locked = 16,
};

static const struct wd_python_layout layout_3_11 = {
    .interpreters = 40, .next_interpreter = 0, .threads = 16,
    .next_thread = 8, .pthread = 152, .tid = 160, .current = 56, .current_in_cframe = 8,
    .frame_length = 72, .code = 32, .instruction = 56, .previous = 48, .owner = 69, .is_entry = 68,
    .file = 112, .name = 128, .first_line = 72, .table = 136, .bytecode = 184,
    .type = 8, .bytes_length = 16, .bytes_data = 32,
    .text_length = 16, .text_state = 32, .ascii_data = 48, .compact_data = 72,
    .lock = 368, .lock_in_runtime = true, .lock_holder = 0, .locked = 8,
};

static const struct wd_python_layout layout_3_12 = {
    .interpreters = 40, .next_interpreter = 0, .threads = 72,
    .next_thread = 8, .pthread = 136, .tid = 144, .current = 56, .current_in_cframe = 0,
    .frame_length = 72, .code = 0, .instruction = 56, .previous = 8, .owner = 70, .is_entry = UINT32_MAX,
    .file = 112, .name = 128, .first_line = 68, .table = 136, .bytecode = 192,
    .type = 8, .bytes_length = 16, .bytes_data = 32,
    .text_length = 16, .text_state = 32, .ascii_data = 40, .compact_data = 56,
    .lock = 384, .lock_is_pointer = true, .lock_holder = 8, .locked = 16,
};

/* struct _Py_DebugOffsets of 3.13, as an array. */
enum offset_3_13 {
    runtime_interpreters = 5,
    interpreter_next = 8, interpreter_threads = 9, interpreter_locked = 17, interpreter_holder = 18,
    thread_next = 21, thread_frame = 23, thread_pthread = 24, thread_tid = 25,
    frame_previous = 29, frame_executable = 30, frame_instruction = 31, frame_owner = 33,
    code_file = 35, code_qualified_name = 37, code_table = 38, code_first_line = 39, code_bytecode = 43,
    object_type = 45,
    bytes_length = 65, bytes_data = 66,
    text_state = 68, text_length = 69, text_ascii_size = 70,
    offset_count = 71,
};

static const char cookie[] = "xdebugpy";

/* Whether all offsets are inside the blocks that are read: no CPython has larger ones. */
static bool is_plausible(const struct wd_python_layout *layout) {
    const uint32_t large[] = {layout->interpreters, layout->next_interpreter, layout->threads, layout->lock,
                              layout->lock_holder, layout->locked, layout->bytecode};
    const uint32_t thread[] = {layout->next_thread, layout->pthread, layout->tid, layout->current};
    const uint32_t frame[] = {layout->code, layout->instruction, layout->previous};
    const uint32_t code[] = {layout->file, layout->name, layout->first_line, layout->table};
    const uint32_t small[] = {layout->type, layout->bytes_length, layout->bytes_data, layout->text_length,
                              layout->text_state, layout->ascii_data, layout->compact_data};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) if (large[i] > 1 << 20) return false;
    for (size_t i = 0; i < sizeof thread / sizeof thread[0]; i++) if (thread[i] > WD_PYTHON_THREAD - 8) return false;
    for (size_t i = 0; i < sizeof frame / sizeof frame[0]; i++) if (frame[i] > layout->frame_length - 8) return false;
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) if (code[i] > WD_PYTHON_CODE - 8) return false;
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) if (small[i] > 128) return false;
    return layout->owner < layout->frame_length;
}

static bool read_own_layout(struct wd_snapshot_arena *arena, uint64_t runtime) {
    uint64_t offsets[offset_count];
    if (wd_read_memory(arena, runtime, offsets, sizeof offsets) != sizeof offsets) return false;
    for (size_t i = 3; i < offset_count; i++) if (offsets[i] > 1 << 20) offsets[i] = 1 << 21;
    struct wd_python_layout *layout = &arena->interpreter.own_layout;
    *layout = (struct wd_python_layout){
        .interpreters = (uint32_t)offsets[runtime_interpreters],
        .next_interpreter = (uint32_t)offsets[interpreter_next], .threads = (uint32_t)offsets[interpreter_threads],
        .next_thread = (uint32_t)offsets[thread_next], .pthread = (uint32_t)offsets[thread_pthread],
        .tid = (uint32_t)offsets[thread_tid], .current = (uint32_t)offsets[thread_frame], .current_in_cframe = UINT32_MAX,
        .frame_length = 72, .code = (uint32_t)offsets[frame_executable], .instruction = (uint32_t)offsets[frame_instruction],
        .previous = (uint32_t)offsets[frame_previous], .owner = (uint32_t)offsets[frame_owner], .is_entry = UINT32_MAX,
        .file = (uint32_t)offsets[code_file], .name = (uint32_t)offsets[code_qualified_name],
        .first_line = (uint32_t)offsets[code_first_line], .table = (uint32_t)offsets[code_table],
        .bytecode = (uint32_t)offsets[code_bytecode],
        .type = (uint32_t)offsets[object_type],
        .bytes_length = (uint32_t)offsets[bytes_length], .bytes_data = (uint32_t)offsets[bytes_data],
        .text_length = (uint32_t)offsets[text_length], .text_state = (uint32_t)offsets[text_state],
        .ascii_data = (uint32_t)offsets[text_ascii_size],
        .compact_data = (uint32_t)offsets[text_ascii_size] + 16, /* utf8_length and utf8 */
        .lock_holder = (uint32_t)offsets[interpreter_holder], .locked = (uint32_t)offsets[interpreter_locked],
    };
    if (!is_plausible(layout)) return false;
    arena->interpreter.layout = layout;
    return true;
}

/* Before 3.11, the version can be inferred only from the functions that it added. */
static uint32_t old_version(struct wd_snapshot_arena *arena, uint64_t image) {
    if (wd_find_symbol(arena, image, "PyModule_AddObjectRef", NULL) != 0) return 0x030a0000;
    if (wd_find_symbol(arena, image, "PyFrame_GetBack", NULL) != 0) return 0x03090000;
    return 0;
}

static void find_layout(struct wd_snapshot_arena *arena, uint64_t image) {
    struct wd_interpreter *interpreter = &arena->interpreter;
    uint64_t address = wd_find_symbol(arena, image, "Py_Version", NULL), head[2], version = 0;
    if (address != 0 && wd_read_memory(arena, address, &version, sizeof version) != sizeof version) version = 0;
    if (address == 0) version = old_version(arena, image);
    interpreter->python.version = (uint32_t)version;
    switch (interpreter->python.version >> 16) {
        case 0x0309: interpreter->layout = &layout_3_9; break;
        case 0x030a: interpreter->layout = &layout_3_10; break;
        case 0x030b: interpreter->layout = &layout_3_11; break;
        case 0x030c: interpreter->layout = &layout_3_12; break;
        case 0x030d:
            if (wd_read_memory(arena, interpreter->runtime, head, sizeof head) == sizeof head
                && memcmp(&head[0], cookie, sizeof cookie - 1) == 0 && head[1] >> 16 == 0x030d)
                read_own_layout(arena, interpreter->runtime);
            break;
        default: break;
    }
    if (interpreter->layout == NULL) interpreter->python.reading = WD_PYTHON_UNKNOWN_VERSION;
}

bool wd_is_executable(const struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    return pin->path_length == strlen(arena->executable)
           && memcmp(arena->maps_text + pin->path_offset, arena->executable, pin->path_length) == 0;
}

/* The interpreter is linked into the executable or is a library. */
static bool may_be_interpreter(const struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    const char *path = arena->maps_text + pin->path_offset;
    size_t length = pin->path_length;
    if (wd_is_executable(arena, pin)) return true;
    const char *slash = memrchr(path, '/', length);
    const char *name = slash == NULL ? path : slash + 1;
    size_t left = length - (size_t)(name - path);
    return left > 9 && memcmp(name, "libpython", 9) == 0;
}

/* A page fault on a FUSE or network file system can block indefinitely. Reading mountinfo, proc_pid_mountinfo(5),
 * involves no server. A device without a block device that is not listed there counts as one of them. */
bool wd_may_block(struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    static const char *const local[] = {"overlay", "btrfs", "tmpfs", "zfs", "bcachefs", "ramfs", "rootfs"};
    if (pin->major != 0) return false;
    ssize_t length = wd_read_at(arena->process_directory, "mountinfo", arena->scratch, sizeof arena->scratch - 1);
    if (length <= 0) return true;
    arena->scratch[length] = '\0';
    for (const char *line = arena->scratch;;) {
        const char *end = strchr(line, '\n');
        if (end == NULL) return true; /* end of the list, possibly cut off */
        unsigned major, minor;
        const char *type = strstr(line, " - ");
        if (sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 && major == pin->major && minor == pin->minor
            && type != NULL && type < end) {
            type += 3;
            size_t word = strcspn(type, " \n");
            for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
                if (strlen(local[i]) == word && memcmp(type, local[i], word) == 0) return false;
            return true;
        }
        line = end + 1;
    }
}

void wd_find_interpreter(struct wd_snapshot_arena *arena) {
    struct wd_interpreter *interpreter = &arena->interpreter;
    size_t candidates = 0;
    if (arena->request->method == WD_METHOD_PROCFS) return; /* no memory is read */
    for (size_t i = 0; i < arena->pin_count && candidates < 4; i++) {
        uint64_t image = arena->pins[i].start;
        if (!may_be_interpreter(arena, &arena->pins[i]) || wd_may_block(arena, &arena->pins[i])) continue;
        candidates++;
        interpreter->runtime = wd_find_symbol(arena, image, "_PyRuntime", NULL);
        if (interpreter->runtime == 0) continue;
        interpreter->python.evaluator =
            wd_find_symbol(arena, image, "_PyEval_EvalFrameDefault", &interpreter->python.evaluator_length);
        interpreter->code_type = wd_find_symbol(arena, image, "PyCode_Type", NULL);
        interpreter->text_type = wd_find_symbol(arena, image, "PyUnicode_Type", NULL);
        interpreter->bytes_type = wd_find_symbol(arena, image, "PyBytes_Type", NULL);
        find_layout(arena, image);
        return;
    }
}
