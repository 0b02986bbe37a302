/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "include/wd_snapshot.h"
#include "include/wd_snapshot_format.h"

#define WD_MAX_MAPPINGS 65536 /* vm.max_map_count is 65530 unless an administrator raised it */
#define WD_MAPS_CAPACITY ((size_t)8 << 20)
#define WD_STACKS_CAPACITY ((size_t)32 << 20)
#define WD_VDSO_CAPACITY ((size_t)64 << 10)
#define WD_TID_SLOTS (2 * WD_SNAPSHOT_MAX_THREADS)
#define WD_MAX_CONTEXTS 4096
#define WD_MAX_CANDIDATES 8192
#define WD_CANDIDATE_SLOTS (4 * WD_MAX_CANDIDATES)
#define WD_RED_ZONE 128
#define WD_PYTHON_CAPACITY ((size_t)4 << 20)
/* The number of bytes read of a PyThreadState, a _PyInterpreterFrame and a PyCodeObject: all of them are larger. */
#define WD_PYTHON_THREAD 184
#define WD_PYTHON_FRAME 112 /* needed of PyFrameObject before 3.11; its successors need less */
#define WD_PYTHON_CODE 176
#define WD_PYTHON_CODE_SLOTS (2 * WD_PYTHON_MAX_CODES)

/* A word of the target, whose bytes have been copied to any address. */
static inline uint64_t wd_word(const void *bytes, size_t offset) {
    uint64_t value;
    memcpy(&value, (const char *)bytes + offset, sizeof value);
    return value;
}

enum { WD_READABLE = 1, WD_WRITABLE = 2, WD_EXECUTABLE = 4 };

struct wd_mapping {
    uint64_t start, end, inode;
    uint32_t major, minor;
    uint32_t path_offset, path_length; /* into maps_text; with the kernel's escapes */
    uint32_t permissions;
    uint32_t reserved;
};

struct wd_interval {
    uint64_t start, end;
};

enum wd_trace_state { WD_UNTRACED = 0, WD_TRACED, WD_STOPPED, WD_GONE };

struct wd_slot {
    struct wd_thread thread;
    uint8_t trace;          /* enum wd_trace_state */
    bool listed;            /* seen in the latest listing */
    bool hastened;          /* has real-time priority instead of `policy` until it has stopped */
    int policy;             /* and flags, as of sched_getscheduler(2) */
    int32_t pending_signal; /* of a signal-delivery-stop: delivered on release */
    uint64_t stack_address;
    uint32_t stack_length;
    size_t stack_offset;
    uint64_t interrupted_address; /* of the stack that a handler on an alternate stack has interrupted */
    uint32_t interrupted_length;
    size_t interrupted_offset;
    uint64_t outer_address; /* of the outermost part of a stack that was too long to be copied whole */
    uint32_t outer_length;
    size_t outer_offset;
    uint32_t python_first, python_count; /* frames of the interpreter */
    int32_t own_tid;        /* in the process's own PID namespace; 0: not read yet */
    uint64_t python_thread; /* latest known address of its thread state; 0: unknown */
    uint64_t java_thread;            /* the address of its JavaThread; 0: it is none */
    uint32_t java_first, java_count; /* frames of Java */
    uint32_t v8_first, v8_count;     /* frames of JavaScript */
    int32_t java_lock_owner;         /* the thread with the lock for which it waits; 0: none, or unknown */
};

struct wd_pin {
    uint64_t start, inode;
    uint32_t major, minor;
    uint32_t path_offset, path_length;
    int32_t descriptor;  /* O_PATH, or -1: open it by path */
    uint32_t same_as;    /* index of an earlier pin of the same file, or its own */
    uint32_t descriptor_index;
    bool from_map_files; /* the kernel vouches for the identity */
};

/* Offsets in CPython's structures, as far as its frames need them. */
struct wd_python_layout {
    uint32_t interpreters;              /* in _PyRuntime */
    uint32_t next_interpreter, threads; /* in PyInterpreterState */
    uint32_t next_thread, pthread, tid, current; /* in PyThreadState: `current` is the frame or a pointer to it */
    uint32_t current_in_cframe;         /* in _PyCFrame; UINT32_MAX: there is none */
    uint32_t frame_length;
    uint32_t code, instruction, previous, owner; /* in _PyInterpreterFrame, or PyFrameObject before 3.11 */
    uint32_t is_entry;                  /* UINT32_MAX: frames owned by the C stack mark the entries */
    uint32_t instruction_bytes;         /* unit of the instruction index; 0: the instruction is an address */
    bool each_is_entry;                 /* each function has its own call of the evaluator */
    uint32_t file, name, first_line, table, bytecode; /* in PyCodeObject */
    uint32_t type;                      /* in PyObject */
    uint32_t bytes_length, bytes_data;  /* in PyBytesObject */
    uint32_t text_length, text_state, ascii_data, compact_data; /* in PyASCIIObject */
    uint32_t lock;        /* in PyInterpreterState or _PyRuntime: the lock, or a pointer to it */
    bool lock_in_runtime, lock_is_pointer;
    uint32_t lock_holder, locked; /* in the lock */
};

/* A code object, and the places of the copies of its parts. */
struct wd_python_copy {
    uint64_t address;
    uint64_t parts[3]; /* the objects of name, file and table: a running process may reuse an address */
    struct wd_python_code code;
    size_t offset;
    uint32_t length;
};

/* The CPython interpreter of the process, if it has one. */
struct wd_interpreter {
    struct wd_python python;
    uint64_t runtime;                               /* _PyRuntime; 0: no interpreter */
    uint64_t code_type, text_type, bytes_type;      /* 0: unknown, so not compared */
    const struct wd_python_layout *layout;
    struct wd_python_layout own_layout;             /* as described by the process itself */
    bool changes;                                   /* the process runs meanwhile */
    uint64_t began, cpu_began, budget;              /* of the current reading */
    uint64_t spent, passed; /* CPU time and wall time, for running threads, per capture or look */
    size_t code_count, frame_count, bytes_used;
};

#define WD_GOROUTINE 200 /* the bytes that are read of a struct g, which is larger */

/* A goroutine, and the place of the copy of its stack. */
struct wd_goroutine_copy {
    struct wd_goroutine goroutine;
    size_t stack_offset;
    uint32_t stack_length;
};

/* The Go runtime of the process, if it has one. */
struct wd_go_runtime {
    struct wd_go go;
    bool is_found;
    uint64_t list, waits; /* addresses of runtime.allgs and runtime.waitReasonStrings; 0: unknown */
    uint32_t status;      /* offset in a struct g */
    size_t count;
};

/* What is needed of HotSpot's structures: X(name, type, field). Each version describes itself: vmStructs.hpp. Those in the
 * second list do not exist in all versions. */
#define WD_JAVA_FIELDS(X)                                                                                              \
    X(thread_anchor, "JavaThread", "_anchor")                                                                          \
    X(anchor_sp, "JavaFrameAnchor", "_last_Java_sp")                                                                   \
    X(anchor_fp, "JavaFrameAnchor", "_last_Java_fp")                                                                   \
    X(anchor_pc, "JavaFrameAnchor", "_last_Java_pc")                                                                   \
    X(wrapper_anchor, "JavaCallWrapper", "_anchor")                                                                    \
    X(heaps, "CodeCache", "_heaps")                                                                                    \
    X(heaps_data, "GrowableArray<int>", "_data")                                                                       \
    X(heap_shift, "CodeHeap", "_log2_segment_size")                                                                    \
    X(heap_memory, "CodeHeap", "_memory")                                                                              \
    X(heap_map, "CodeHeap", "_segmap")                                                                                 \
    X(space_low, "VirtualSpace", "_low")                                                                               \
    X(space_high, "VirtualSpace", "_high")                                                                             \
    X(blob_name, "CodeBlob", "_name")                                                                                  \
    X(blob_size, "CodeBlob", "_size")                                                                                  \
    X(blob_frame, "CodeBlob", "_frame_size")                                                                           \
    X(blob_complete, "CodeBlob", "_frame_complete_offset")                                                             \
    X(method_const, "Method", "_constMethod")                                                                          \
    X(const_pool, "ConstMethod", "_constants")                                                                         \
    X(const_code_size, "ConstMethod", "_code_size")                                                                    \
    X(const_name, "ConstMethod", "_name_index")                                                                        \
    X(pool_holder, "ConstantPool", "_pool_holder")                                                                     \
    X(klass_name, "Klass", "_name")                                                                                    \
    X(symbol_length, "Symbol", "_length")                                                                              \
    X(symbol_body, "Symbol", "_body")                                                                                  \
    X(interpreter_code, "AbstractInterpreter", "_code")                                                                \
    X(queue_start, "StubQueue", "_stub_buffer")                                                                        \
    X(queue_length, "StubQueue", "_buffer_limit")                                                                      \
    X(call_return, "StubRoutines", "_call_stub_return_address")
#define WD_JAVA_OTHER_FIELDS(X)                                                                                        \
    X(version, "Abstract_VM_Version", "_vm_major_version")                                                             \
    X(list, "ThreadsSMRSupport", "_java_thread_list")                                                                  \
    X(list_length, "ThreadsList", "_length")                                                                           \
    X(list_threads, "ThreadsList", "_threads")                                                                         \
    X(first_thread, "Threads", "_thread_list")                                                                         \
    X(next_thread, "JavaThread", "_next")                                                                              \
    X(pending_monitor, "JavaThread", "_current_pending_monitor")                                                       \
    X(pending_monitor_before_17, "Thread", "_current_pending_monitor")                                                 \
    X(owner_id, "JavaThread", "_monitor_owner_id")                                                                     \
    X(monitor_owner, "ObjectMonitor", "_owner")                                                                        \
    X(monitor_object, "ObjectMonitor", "_object")                                                                      \
    X(lock_stack, "JavaThread", "_lock_stack")                                                                         \
    X(lock_stack_base, "LockStack", "_base[0]")                                                                        \
    X(lock_stack_top, "LockStack", "_top")                                                                             \
    X(stack_base, "JavaThread", "_stack_base")                                                                         \
    X(stack_base_of_thread, "Thread", "_stack_base")                                                                   \
    X(stack_size, "JavaThread", "_stack_size")                                                                         \
    X(stack_size_of_thread, "Thread", "_stack_size")                                                                   \
    X(heaps_length, "GrowableArrayBase", "_len")                                                                       \
    X(heaps_length_before_17, "GenericGrowableArray", "_len")                                                          \
    X(blob_code, "CodeBlob", "_code_begin")                                                                            \
    X(blob_code_offset, "CodeBlob", "_code_offset")                                                                    \
    X(blob_mutable, "CodeBlob", "_mutable_data")                                                                       \
    X(blob_relocation, "CodeBlob", "_relocation_size")                                                                 \
    X(compiled_method, "nmethod", "_method")                                                                           \
    X(compiled_method_before_23, "CompiledMethod", "_method")                                                          \
    X(scopes, "CompiledMethod", "_scopes_data_begin")                                                                  \
    X(scopes_offset, "nmethod", "_scopes_data_offset")                                                                 \
    X(places_offset, "nmethod", "_scopes_pcs_offset")                                                                  \
    X(places_end_offset, "nmethod", "_dependencies_offset")                                                            \
    X(metadata_offset, "nmethod", "_metadata_offset")                                                                  \
    X(immutable, "nmethod", "_immutable_data")                                                                         \
    X(original_pc, "nmethod", "_orig_pc_offset")                                                                       \
    X(deoptimization, "CompiledMethod", "_deopt_handler_begin")                                                        \
    X(deoptimization_offset, "nmethod", "_deopt_handler_offset")                                                       \
    X(const_flags, "ConstMethod", "_flags")                                                                            \
    X(const_flags_since_20, "ConstMethod", "_flags._flags")                                                            \
    X(pool_file, "ConstantPool", "_source_file_name_index")                                                            \
    X(klass_file, "InstanceKlass", "_source_file_name_index")
#define WD_JAVA_SIZES(X)                                                                                               \
    X(const_method, "ConstMethod")                                                                                     \
    X(constant_pool, "ConstantPool")                                                                                   \
    X(heap_block, "HeapBlock")

#define WD_JAVA_HEAPS 8
#define WD_JAVA_SLOTS (2 * WD_JAVA_MAX_METHODS)
#define WD_JAVA_CAPACITY ((size_t)1 << 20)
#define WD_PAGES 128
#define WD_JAVA_BLOB 512 /* the bytes that are read of a CodeBlob with its nmethod */

/* Each is the offset of a field or, if it is static, its address; WD_JAVA_ABSENT if this version has none. */
struct wd_java_layout {
#define X(name, type, field) uint64_t name;
    WD_JAVA_FIELDS(X)
    WD_JAVA_OTHER_FIELDS(X)
#undef X
#define X(name, type) uint64_t name##_size;
    WD_JAVA_SIZES(X)
#undef X
};
#define WD_JAVA_ABSENT UINT64_MAX

/* A part of the memory for code, with the places where its blobs begin. */
struct wd_java_heap {
    uint64_t low, high, map;
    uint32_t shift;
};

struct wd_java_method_copy {
    uint64_t address, constants, code, code_size; /* of the bytecode */
    struct wd_java_method method;
    size_t offset;
};

/* HotSpot in the process, if it has it. */
struct wd_java_runtime {
    struct wd_java java;
    bool is_found;
    struct wd_java_layout layout;
    struct wd_java_heap heaps[WD_JAVA_HEAPS];
    size_t heap_count;
    uint64_t interpreter_start, interpreter_end, call_return;
    size_t method_count, frame_count, bytes_used;
    uint64_t blob_address, blob_code; /* the latest blob, and where its code begins */
    uint8_t blob[WD_JAVA_BLOB];
    bool blob_is_method;
};

/* What is needed of V8's structures: X(name, symbols). libnode or node itself exports each as a number, under a name that may
 * have changed. */
#define WD_V8_FIELDS(X)                                                                                                \
    X(frame_function, "off_fp_function")                                                                               \
    X(word_bytes, "TaggedSize")                                                                                        \
    X(map_type, "class_Map__instance_type__uint16_t")                                                                  \
    X(function_shared, "class_JSFunction__shared__SharedFunctionInfo")                                                 \
    X(shared_scope, "class_SharedFunctionInfo__name_or_scope_info__Object",                                            \
      "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",                                                  \
      "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_")                                        \
    X(shared_script, "class_SharedFunctionInfo__script_or_debug_info__HeapObject",                                     \
      "class_SharedFunctionInfo__script__Tagged_HeapObject_")                                                          \
    X(script_name, "class_Script__name__Object")                                                                       \
    X(script_source, "class_Script__source__Object")                                                                   \
    X(text_length, "class_String__length__int32_t")                                                                    \
    X(text_bytes, "class_SeqOneByteString__chars__char")                                                               \
    X(thin_text, "class_ThinString__actual__String")                                                                   \
    X(text_limit, "IsNotStringMask")                                                                                   \
    X(text_form, "StringRepresentationMask")                                                                           \
    X(text_encoding, "StringEncodingMask")                                                                             \
    X(thin_form, "ThinStringTag")                                                                                      \
    X(function_type, "type_JSFunction__JS_FUNCTION_TYPE")                                                              \
    X(shared_type, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")                                               \
    X(scope_type, "type_ScopeInfo__SCOPE_INFO_TYPE")                                                                   \
    X(script_type, "type_Script__SCRIPT_TYPE")

#define WD_V8_SLOTS (2 * WD_V8_MAX_FUNCTIONS)
#define WD_V8_CAPACITY ((size_t)512 << 10)

struct wd_v8_function_copy {
    uint64_t address; /* of its SharedFunctionInfo */
    struct wd_v8_function function;
    size_t offset;
};

/* V8 in the process, if it has it. */
struct wd_v8_runtime {
    struct wd_v8 v8;
    bool is_found;
    struct {
#define X(name, ...) int32_t name;
        WD_V8_FIELDS(X)
#undef X
    } layout;
    uint64_t scanned; /* bytes of source code in which lines were counted */
    size_t function_count, frame_count, bytes_used;
};

/* The working memory of one capture, in one mapping; only touched pages become resident. */
struct wd_snapshot_arena {
    const struct wd_snapshot_request *request;
    struct wd_snapshot_result *result;
    pid_t pid;
    int pidfd;
    bool owns_pidfd;
    bool mistaken; /* pid is not the process that the request means: kill nothing */
    int process_directory; /* /proc/PID */
    int task_directory;    /* /proc/PID/task */
    pid_t memory_tid;      /* a thread with the address space: an exited leader has none */
    bool only_resident;    /* read only resident pages */
    bool has_left_out;     /* a page was not resident, or did not answer */
    bool is_silent;        /* memory is not read any more */
    bool reads_file;       /* use /proc/PID/mem: process_vm_readv(2) is not permitted */
    bool is_child; /* of this process, which reaps it itself: a capture never does */
    pid_t parent;
    uint32_t uid;
    int32_t tracer;
    uint64_t start_time;
    uint64_t stack_base; /* start of the arguments and environment, above all frames; 0: unknown */
    bool denied_stack;   /* /proc/.../stack takes CAP_SYS_ADMIN */
    bool denied_syscall;
    int seize_error;
    uint64_t stopped_since;     /* lower bound, for a thread that is stopped alone */
    uint64_t stop_deadline;     /* end of a brief stop; 0: no thread is stopped */
    uint32_t foreign_registers; /* threads of another machine mode, such as 32-bit */
    uint32_t not_stopped;
    char truncated[192];
    char executable[4096];

    size_t thread_count;
    size_t mapping_count;
    size_t maps_length;
    size_t writable_count, executable_count;
    size_t stacks_used;
    size_t vdso_length;
    uint64_t vdso_address;
    size_t context_count;
    size_t pin_count;
    int root_directory, mount_namespace, executable_pin;
    int32_t perf_map_pid;          /* the process's id in its own PID namespace; 0: it has no generated code */
    uint32_t perf_map_descriptor;  /* index among the module descriptors; UINT32_MAX: none */
    size_t resident;
    uint32_t candidate_epoch;
    struct wd_interpreter interpreter;
    struct wd_go_runtime go;
    struct wd_java_runtime java;
    struct wd_v8_runtime v8;
    uint64_t paged_began, paged_cpu_began, paged_budget; /* of the reading by pages */
    uint16_t python_slots[WD_PYTHON_CODE_SLOTS]; /* index + 1 */
    uint16_t java_slots[WD_JAVA_SLOTS];          /* index + 1 */
    uint16_t v8_slots[WD_V8_SLOTS];              /* index + 1 */

    uint16_t tid_slots[WD_TID_SLOTS]; /* index + 1 */
    char scratch[16384] __attribute__((aligned(16)));
    uint16_t waiting[WD_SNAPSHOT_MAX_THREADS];
    struct wd_goroutine_copy goroutines[WD_GO_MAX_GOROUTINES];
    struct wd_pin pins[WD_SNAPSHOT_MAX_MODULES];
    struct wd_async_context contexts[WD_MAX_CONTEXTS];
    uint64_t candidates[WD_MAX_CANDIDATES];
    struct {
        uint64_t address;
        uint32_t epoch;
        uint32_t reserved;
    } candidate_slots[WD_CANDIDATE_SLOTS];
    struct wd_python_copy python_codes[WD_PYTHON_MAX_CODES];
    struct wd_python_frame python_frames[WD_PYTHON_MAX_FRAMES];
    uint8_t python_bytes[WD_PYTHON_CAPACITY] __attribute__((aligned(16)));
    struct wd_java_method_copy java_methods[WD_JAVA_MAX_METHODS];
    struct wd_java_frame java_frames[WD_JAVA_MAX_FRAMES];
    uint8_t java_bytes[WD_JAVA_CAPACITY];
    struct wd_v8_function_copy v8_functions[WD_V8_MAX_FUNCTIONS];
    struct wd_v8_frame v8_frames[WD_V8_MAX_FRAMES];
    uint8_t v8_bytes[WD_V8_CAPACITY];
    uint64_t page_addresses[WD_PAGES]; /* 0: none */
    uint8_t pages[WD_PAGES][4096];
    struct wd_interval writable[WD_MAX_MAPPINGS];
    struct wd_interval executables[WD_MAX_MAPPINGS];
    struct wd_mapping mappings[WD_MAX_MAPPINGS];
    uint8_t vdso[WD_VDSO_CAPACITY] __attribute__((aligned(16)));
    struct wd_slot slots[WD_SNAPSHOT_MAX_THREADS];
    char maps_text[WD_MAPS_CAPACITY];
    uint8_t stacks[WD_STACKS_CAPACITY] __attribute__((aligned(4096)));
};

uint64_t wd_now(void);
/* The CPU time of the calling thread, in nanoseconds. */
uint64_t wd_cpu_now(void);
/* Adds a sentence to the PROCESS record's TRUNCATED, once. */
void wd_note_truncation(struct wd_snapshot_arena *arena, const char *what);

/* procfs.c */
ssize_t wd_read_at(int directory, const char *name, char *buffer, size_t size);
int wd_read_thread_facts(struct wd_snapshot_arena *arena, struct wd_slot *slot, bool all);
/* The letter of field 3 of proc_pid_stat(5); 'X' for a thread that is gone. */
char wd_thread_state(struct wd_snapshot_arena *arena, pid_t tid);
/* The number of times that a thread has blocked; UINT64_MAX if unknown. */
uint64_t wd_count_blocks(struct wd_snapshot_arena *arena, pid_t tid);
/* Whether a thread was on a CPU for most of the time since its stop was requested. */
bool wd_has_run(struct wd_snapshot_arena *arena, const struct wd_thread *thread);
/* A thread's id in its own PID namespace; -1 if unknown. */
int32_t wd_own_tid(struct wd_snapshot_arena *arena, pid_t tid);
bool wd_parse_syscall(const char *text, struct wd_thread *thread);

/* threads.c */
int wd_list_threads(struct wd_snapshot_arena *arena, bool *added);
struct wd_slot *wd_find_thread(struct wd_snapshot_arena *arena, pid_t tid);

/* maps.c */
int wd_read_maps(struct wd_snapshot_arena *arena);
const struct wd_mapping *wd_find_mapping(const struct wd_snapshot_arena *arena, uint64_t address);
const struct wd_mapping *wd_find_mapping_above(const struct wd_snapshot_arena *arena, uint64_t address);
bool wd_in_intervals(const struct wd_interval *intervals, size_t count, uint64_t address);
bool wd_path_contains(const struct wd_snapshot_arena *arena, const struct wd_mapping *mapping, const char *name);
void wd_read_vdso(struct wd_snapshot_arena *arena);

/* memory.c */
size_t wd_read_memory(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length);
size_t wd_read_vectors(struct wd_snapshot_arena *arena, void *buffer, const struct iovec *ranges, size_t count);
/* The number of resident bytes from an address on: reading them causes no I/O. */
size_t wd_resident_length(struct wd_snapshot_arena *arena, uint64_t start, size_t length);
/* Records that a page was not read because it is not resident. */
void wd_note_left_out(struct wd_snapshot_arena *arena, uint64_t address);

/* fuse.c: whether a file's server is neither root's nor that of this process's user, so that no file operation may
   wait for it */
bool wd_has_other_server(uint32_t major, uint32_t minor);

/* modules.c */
void wd_pin_modules(struct wd_snapshot_arena *arena);
void wd_open_modules(struct wd_snapshot_arena *arena);
void wd_unpin_modules(struct wd_snapshot_arena *arena);

/* registers.c */
int wd_read_registers(struct wd_slot *slot);

/* The state and the wait channel of a thread. */
void wd_read_wait(struct wd_snapshot_arena *arena, struct wd_thread *thread);

/* freeze.c */
uint64_t wd_stop_timeout(const struct wd_snapshot_arena *arena);
/* The wall-time limit, in nanoseconds, of a reading with a CPU-time budget: the usual one, or the stop timeout if
 * that is longer. */
uint64_t wd_patience(const struct wd_snapshot_arena *arena, uint64_t usual);
/* Whether a reading is over its budget of CPU time, or over its limit in wall time, of which `patience` is the usual one. */
bool wd_is_over(const struct wd_snapshot_arena *arena, uint64_t began, uint64_t cpu_began, uint64_t budget,
                uint64_t patience);
void wd_freeze(struct wd_snapshot_arena *arena);
void wd_release(struct wd_snapshot_arena *arena);
void wd_reap(struct wd_snapshot_arena *arena, uint64_t deadline);
int wd_stop_thread(struct wd_snapshot_arena *arena, struct wd_slot *slot, uint64_t deadline);
void wd_let_go(struct wd_slot *slot);
size_t wd_release_stopped(struct wd_snapshot_arena *arena, uint64_t deadline);

/* restart.c */
void wd_spare_call(pid_t tid);

/* brief.c */
int wd_look_at_running(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, uint64_t deadline,
                       uint64_t *stopped_ns);

/* glance.c */
/* Returns true after copying the registers, and the part of the stack above the stack pointer that fits. False if
 * the thread gets no CPU for some milliseconds, or without permission. */
bool wd_glance_at_running(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap);

/* take.c */
int wd_open_capture(struct wd_snapshot_arena *arena, const struct wd_snapshot_request *request,
                    struct wd_snapshot_result *result);
void wd_write_capture(struct wd_snapshot_arena *arena);
void wd_close_capture(struct wd_snapshot_arena *arena);

/* stacks.c */
/* Copies memory behind the stacks. Returns the number of bytes that could be read. */
size_t wd_append_memory(struct wd_snapshot_arena *arena, uint64_t start, size_t length, size_t *offset);
void wd_read_stacks(struct wd_snapshot_arena *arena);
void wd_read_unstopped_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap);
/* Uses bytes that were copied from the stack pointer on as the stack. */
void wd_adopt_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, const void *bytes, size_t length);
void wd_copy_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap);
bool wd_copy_resident_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap);
void wd_forget_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t mark);
size_t wd_stack_cap(size_t threads);

/* contexts.c */
bool wd_may_run_swift_tasks(struct wd_snapshot_arena *arena);
void wd_read_contexts(struct wd_snapshot_arena *arena);

/* symbols.c */
uint64_t wd_find_symbol(struct wd_snapshot_arena *arena, uint64_t image, const char *name, uint64_t *length);

/* python_runtime.c */
void wd_find_interpreter(struct wd_snapshot_arena *arena);
bool wd_is_executable(const struct wd_snapshot_arena *arena, const struct wd_pin *pin);
/* Whether reading the file could wait for a server. */
bool wd_may_block(struct wd_snapshot_arena *arena, const struct wd_pin *pin);

/* go_runtime.c */
void wd_find_goroutines(struct wd_snapshot_arena *arena);

/* goroutines.c */
bool wd_is_goroutine(uint64_t address, const char *bytes);
uint32_t wd_goroutine_status(const char *bytes, uint32_t offset);
void wd_read_goroutines(struct wd_snapshot_arena *arena);

/* java_runtime.c */
void wd_find_java(struct wd_snapshot_arena *arena);

/* paged.c */
bool wd_read_paged(struct wd_snapshot_arena *arena, uint64_t address, void *buffer, size_t length);
/* What is read from here on is read anew, for at most `budget` of CPU time, and a tenth of a second in wall time. */
void wd_begin_paged(struct wd_snapshot_arena *arena, uint64_t budget);
/* Whether that time is over: nothing but the pages that are there can be read. */
bool wd_is_paged_over(const struct wd_snapshot_arena *arena);

/* java_frames.c */
void wd_read_java_stacks(struct wd_snapshot_arena *arena);

/* java_methods.c */
struct wd_java_place {
    uint64_t method;
    int32_t instruction; /* the index of the bytecode; negative: it has not begun */
};
/* The calls that a compiler has put together at a place of its code, innermost first; 0 if that is unknown. */
size_t wd_read_java_scopes(struct wd_snapshot_arena *arena, uint64_t pc, bool is_call, struct wd_java_place *places, size_t room);
/* The index of the method's copy; UINT32_MAX for anything else, or without room. */
uint32_t wd_copy_java_method(struct wd_snapshot_arena *arena, uint64_t address);
int32_t wd_find_java_line(struct wd_snapshot_arena *arena, uint32_t method, int32_t instruction);

/* v8_runtime.c */
void wd_find_v8(struct wd_snapshot_arena *arena);

/* v8_frames.c */
void wd_read_v8_stacks(struct wd_snapshot_arena *arena);

/* v8_functions.c */
/* The index of the function's copy; UINT32_MAX for anything that is no function, or without room. */
uint32_t wd_copy_v8_function(struct wd_snapshot_arena *arena, uint64_t function);
bool wd_has_v8_time(struct wd_snapshot_arena *arena);

/* python_frames.c */
void wd_read_python_stacks(struct wd_snapshot_arena *arena);
void wd_read_python_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot);
void wd_find_python_lock_holder(struct wd_snapshot_arena *arena);
void wd_forget_python_stack(struct wd_snapshot_arena *arena, struct wd_slot *slot);

/* kill.c */
void wd_kill(struct wd_snapshot_arena *arena);

/* memfd.c */
int wd_write_memory(struct wd_snapshot_arena *arena, int memfd);
int wd_write_modules(struct wd_snapshot_arena *arena, int memfd);
