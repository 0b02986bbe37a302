/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the records of wd_snapshot_format.h.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

enum { records_per_write = 64, vectors_per_record = 4 };

struct writer {
    int file;
    int error;
    uint64_t written;
    size_t record_count, vector_count;
    struct wd_record records[records_per_write];
    struct wd_memory_range ranges[records_per_write];
    struct wd_python_stack python_stacks[records_per_write];
    struct wd_java_stack java_stacks[records_per_write];
    struct wd_v8_stack v8_stacks[records_per_write];
    struct iovec vectors[records_per_write * vectors_per_record];
};

static const char zeros[8];

int wd_create_memfd(void) {
    int file = memfd_create("watchdogd-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    /* Kernels before 6.3 reject the unknown flag. */
    if (file < 0 && errno == EINVAL) file = memfd_create("watchdogd-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return file;
}

int wd_seal_memfd(int memfd) {
    if (lseek(memfd, 0, SEEK_SET) < 0) return errno;
    /* F_SEAL_SEAL is the last seal: with it, the file can be neither changed nor sealed any further. */
    return fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0 ? 0 : errno;
}

static void flush(struct writer *writer) {
    struct iovec *vectors = writer->vectors;
    size_t count = writer->vector_count;
    while (count > 0 && writer->error == 0) {
        ssize_t length = writev(writer->file, vectors, (int)count);
        if (length < 0) {
            if (errno != EINTR) writer->error = errno;
            continue;
        }
        writer->written += (uint64_t)length;
        while (count > 0 && (size_t)length >= vectors->iov_len) {
            length -= (ssize_t)vectors->iov_len;
            vectors++;
            count--;
        }
        if (count > 0) {
            vectors->iov_base = (char *)vectors->iov_base + length;
            vectors->iov_len -= (size_t)length;
        }
    }
    writer->record_count = writer->vector_count = 0;
}

static void append(struct writer *writer, const void *bytes, size_t length) {
    if (length > 0) writer->vectors[writer->vector_count++] = (struct iovec){(void *)(uintptr_t)bytes, length};
}

/* `first` is part of the payload, before `bytes`; both must stay valid until the flush. */
static void put(struct writer *writer, uint32_t kind, const void *first, size_t first_length, const void *bytes,
                size_t length) {
    if (writer->record_count == records_per_write) flush(writer);
    struct wd_record *record = &writer->records[writer->record_count++];
    *record = (struct wd_record){.kind = kind, .length = first_length + length};
    append(writer, record, sizeof *record);
    append(writer, first, first_length);
    append(writer, bytes, length);
    append(writer, zeros, (8 - (first_length + length) % 8) % 8);
}

static void put_range(struct writer *writer, uint32_t kind, uint64_t address, uint64_t owner, const void *bytes,
                      size_t length) {
    if (writer->record_count == records_per_write) flush(writer);
    struct wd_memory_range *range = &writer->ranges[writer->record_count];
    *range = (struct wd_memory_range){.address = address, .owner = owner};
    put(writer, kind, range, sizeof *range, bytes, length);
}

static const char *method_name(uint32_t method) {
    switch (method) {
        case WD_METHOD_PTRACE: return "ptrace";
        case WD_METHOD_PROCFS_REGISTERS: return "procfs-registers";
        default: return "procfs";
    }
}

__attribute__((format(printf, 4, 5))) static void add_line(char *text, size_t size, size_t *length, const char *format,
                                                           ...) {
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text + *length, size - *length, format, arguments);
    va_end(arguments);
    if (wanted < 0 || (size_t)wanted + 1 >= size - *length) return;
    for (size_t i = 0; i < (size_t)wanted; i++) {
        unsigned char *byte = (unsigned char *)&text[*length + i];
        if (*byte < 0x20 || *byte == 0x7f) *byte = '?'; /* so that a name cannot forge lines */
    }
    *length += (size_t)wanted;
    text[(*length)++] = '\n';
}

static size_t describe(struct wd_snapshot_arena *arena, char *text, size_t size) {
    const struct wd_snapshot_result *result = arena->result;
    const struct wd_slot *leader = wd_find_thread(arena, arena->pid);
    const struct wd_snapshot_times *times = &result->times;
    size_t length = 0;
    add_line(text, size, &length, "PID=%d", arena->pid);
    add_line(text, size, &length, "START_TIME=%llu", (unsigned long long)arena->start_time);
    add_line(text, size, &length, "UID=%u", arena->uid);
    add_line(text, size, &length, "PPID=%d", arena->parent);
    add_line(text, size, &length, "COMM=%s", leader == NULL ? "" : leader->thread.name);
    add_line(text, size, &length, "EXE=%s", arena->executable);
    add_line(text, size, &length, "ARCH=x86-64");
    add_line(text, size, &length, "CAPTURED_AT=%llu", (unsigned long long)times->began);
    add_line(text, size, &length, "FROZEN_NS=%llu",
             (unsigned long long)(result->method == WD_METHOD_PTRACE ? times->ended - times->first_stop : 0));
    add_line(text, size, &length, "METHOD=%s", method_name(result->method));
    if (result->reason[0] != '\0') add_line(text, size, &length, "REASON=%s", result->reason);
    add_line(text, size, &length, "TRACER_PID=%d", arena->tracer);
    if (arena->truncated[0] != '\0') add_line(text, size, &length, "TRUNCATED=%s", arena->truncated);
    return length;
}

static void put_thread(struct writer *writer, const struct wd_slot *slot) {
    put(writer, WD_RECORD_THREAD, &slot->thread, sizeof slot->thread, NULL, 0);
}

static void put_python_stack(struct wd_snapshot_arena *arena, struct writer *writer, const struct wd_slot *slot) {
    if (slot->python_count == 0) return;
    if (writer->record_count == records_per_write) flush(writer);
    struct wd_python_stack *stack = &writer->python_stacks[writer->record_count];
    *stack = (struct wd_python_stack){.tid = slot->thread.tid};
    put(writer, WD_RECORD_PYTHON_STACK, stack, sizeof *stack, arena->python_frames + slot->python_first,
        slot->python_count * sizeof arena->python_frames[0]);
}

static void put_python(struct wd_snapshot_arena *arena, struct writer *writer) {
    const struct wd_interpreter *interpreter = &arena->interpreter;
    if (interpreter->runtime == 0) return;
    put(writer, WD_RECORD_PYTHON, &interpreter->python, sizeof interpreter->python, NULL, 0);
    for (size_t i = 0; i < interpreter->code_count; i++) {
        const struct wd_python_copy *copy = &arena->python_codes[i];
        put(writer, WD_RECORD_PYTHON_CODE, &copy->code, sizeof copy->code, arena->python_bytes + copy->offset,
            copy->length);
    }
    for (size_t i = 0; i < arena->thread_count; i++) put_python_stack(arena, writer, &arena->slots[i]);
}

static void put_java_stack(struct wd_snapshot_arena *arena, struct writer *writer, const struct wd_slot *slot) {
    if (slot->java_count == 0) return;
    if (writer->record_count == records_per_write) flush(writer);
    struct wd_java_stack *stack = &writer->java_stacks[writer->record_count];
    *stack = (struct wd_java_stack){.tid = slot->thread.tid, .lock_owner = slot->java_lock_owner};
    put(writer, WD_RECORD_JAVA_STACK, stack, sizeof *stack, arena->java_frames + slot->java_first,
        slot->java_count * sizeof arena->java_frames[0]);
}

static void put_java(struct wd_snapshot_arena *arena, struct writer *writer) {
    const struct wd_java_runtime *java = &arena->java;
    if (!java->is_found) return;
    put(writer, WD_RECORD_JAVA, &java->java, sizeof java->java, NULL, 0);
    for (size_t i = 0; i < java->method_count; i++) {
        const struct wd_java_method_copy *copy = &arena->java_methods[i];
        size_t length = (size_t)copy->method.class_length + copy->method.name_length + copy->method.file_length;
        put(writer, WD_RECORD_JAVA_METHOD, &copy->method, sizeof copy->method, arena->java_bytes + copy->offset, length);
    }
    for (size_t i = 0; i < arena->thread_count; i++) put_java_stack(arena, writer, &arena->slots[i]);
}

static void put_v8_stack(struct wd_snapshot_arena *arena, struct writer *writer, const struct wd_slot *slot) {
    if (slot->v8_count == 0) return;
    if (writer->record_count == records_per_write) flush(writer);
    struct wd_v8_stack *stack = &writer->v8_stacks[writer->record_count];
    *stack = (struct wd_v8_stack){.tid = slot->thread.tid};
    put(writer, WD_RECORD_V8_STACK, stack, sizeof *stack, arena->v8_frames + slot->v8_first,
        slot->v8_count * sizeof arena->v8_frames[0]);
}

static void put_v8(struct wd_snapshot_arena *arena, struct writer *writer) {
    const struct wd_v8_runtime *v8 = &arena->v8;
    if (!v8->is_found) return;
    put(writer, WD_RECORD_V8, &v8->v8, sizeof v8->v8, NULL, 0);
    for (size_t i = 0; i < v8->function_count; i++) {
        const struct wd_v8_function_copy *copy = &arena->v8_functions[i];
        put(writer, WD_RECORD_V8_FUNCTION, &copy->function, sizeof copy->function, arena->v8_bytes + copy->offset,
            (size_t)copy->function.name_length + copy->function.file_length);
    }
    for (size_t i = 0; i < arena->thread_count; i++) put_v8_stack(arena, writer, &arena->slots[i]);
}

static void put_go(struct wd_snapshot_arena *arena, struct writer *writer) {
    if (!arena->go.is_found) return;
    put(writer, WD_RECORD_GO, &arena->go.go, sizeof arena->go.go, NULL, 0);
    for (size_t i = 0; i < arena->go.count; i++) {
        const struct wd_goroutine_copy *copy = &arena->goroutines[i];
        put(writer, WD_RECORD_GOROUTINE, &copy->goroutine, sizeof copy->goroutine, arena->stacks + copy->stack_offset,
            copy->stack_length);
    }
}

/* Writes all but the modules and the perf map. */
int wd_write_memory(struct wd_snapshot_arena *arena, int memfd) {
    static const struct wd_snapshot_header header = {.magic = WD_SNAPSHOT_MAGIC, .version = WD_SNAPSHOT_VERSION};
    struct writer writer = {.file = memfd};
    size_t length = describe(arena, arena->scratch, sizeof arena->scratch);
    append(&writer, &header, sizeof header);
    put(&writer, WD_RECORD_PROCESS, arena->scratch, length, NULL, 0);
    flush(&writer);
    put(&writer, WD_RECORD_MAPS, arena->maps_text, arena->maps_length, NULL, 0);
    for (size_t i = 0; i < arena->thread_count; i++) put_thread(&writer, &arena->slots[i]);
    for (size_t i = 0; i < arena->thread_count; i++) {
        const struct wd_slot *slot = &arena->slots[i];
        if (slot->stack_length > 0)
            put_range(&writer, WD_RECORD_STACK, slot->stack_address, (uint64_t)slot->thread.tid,
                      arena->stacks + slot->stack_offset, slot->stack_length);
        if (slot->interrupted_length > 0)
            put_range(&writer, WD_RECORD_STACK, slot->interrupted_address, (uint64_t)slot->thread.tid,
                      arena->stacks + slot->interrupted_offset, slot->interrupted_length);
        if (slot->outer_length > 0)
            put_range(&writer, WD_RECORD_OUTER_STACK, slot->outer_address, (uint64_t)slot->thread.tid,
                      arena->stacks + slot->outer_offset, slot->outer_length);
    }
    if (arena->vdso_length > 0)
        put_range(&writer, WD_RECORD_VDSO, arena->vdso_address, 0, arena->vdso, arena->vdso_length);
    if (arena->context_count > 0)
        put(&writer, WD_RECORD_ASYNC_CONTEXTS, arena->contexts, arena->context_count * sizeof arena->contexts[0], NULL,
            0);
    put_python(arena, &writer);
    put_go(arena, &writer);
    put_java(arena, &writer);
    put_v8(arena, &writer);
    flush(&writer);
    return writer.error;
}

int wd_write_modules(struct wd_snapshot_arena *arena, int memfd) {
    struct writer writer = {.file = memfd};
    struct wd_module modules[records_per_write];
    for (size_t i = 0; i < arena->pin_count; i++) {
        const struct wd_pin *pin = &arena->pins[i];
        if (writer.record_count == records_per_write) flush(&writer);
        struct wd_module *module = &modules[writer.record_count];
        *module = (struct wd_module){pin->start, pin->descriptor_index, pin->path_length};
        put(&writer, WD_RECORD_MODULE, module, sizeof *module, arena->maps_text + pin->path_offset, pin->path_length);
    }
    struct wd_perf_map map = {.descriptor = arena->perf_map_descriptor};
    if (map.descriptor != UINT32_MAX) put(&writer, WD_RECORD_PERF_MAP, &map, sizeof map, NULL, 0);
    flush(&writer);
    return writer.error;
}
