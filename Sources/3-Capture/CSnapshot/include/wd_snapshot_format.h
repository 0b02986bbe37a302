/* SPDX-License-Identifier: Apache-2.0
 *
 * The snapshot: the raw data of a hung process, which stage 1 copies and stage 2 unwinds, passed in a memfd.
 *
 * A 16-byte header, then records until the end. Every record starts at an offset divisible by 8 and is followed by
 * zero padding up to the next such offset. Integers are little-endian and in host layout: writer and reader always
 * run on the same host. The reader treats the whole file as hostile: it skips unknown kinds, checks lengths against
 * the remaining bytes, and bounds counts by the limits below.
 */
#pragma once
#include <stdint.h>

#define WD_SNAPSHOT_MAGIC 0x0031504e53474457ULL /* the bytes "WDGSNP1\0" */
#define WD_SNAPSHOT_VERSION 1

#define WD_SNAPSHOT_MAX_THREADS 4096
#define WD_SNAPSHOT_MAX_MODULES 1024
#define WD_SNAPSHOT_MAX_BYTES (64ULL << 20)

struct wd_snapshot_header {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved;
};

struct wd_record {
    uint32_t kind;   /* enum wd_record_kind */
    uint32_t flags;  /* 0 unless the kind says otherwise */
    uint64_t length; /* bytes of payload, without padding */
};

enum wd_record_kind {
    /* UTF-8 "KEY=VALUE\n" lines: PID, START_TIME (clock ticks, /proc/PID/stat field 22), UID, PPID, COMM, EXE, ARCH
     * ("x86-64"), CAPTURED_AT (CLOCK_MONOTONIC ns), FROZEN_NS (first requested stop to last release or kill), METHOD
     * ("ptrace", "procfs-registers", "procfs"), REASON (why not a better method; absent for "ptrace"), TRACER_PID,
     * TRUNCATED (the limits that were reached). */
    WD_RECORD_PROCESS = 1,
    /* /proc/PID/maps: its lines, verbatim; not all lines of a list that is too long. */
    WD_RECORD_MAPS = 2,
    /* One struct wd_thread. */
    WD_RECORD_THREAD = 3,
    /* struct wd_memory_range, then its bytes: a part of the stack of thread `owner`. A second record has the stack
     * that a signal handler on an alternate stack has interrupted. */
    WD_RECORD_STACK = 4,
    /* struct wd_memory_range, then its bytes: the vDSO's ELF image. owner is 0. */
    WD_RECORD_VDSO = 5,
    /* An array of struct wd_async_context: candidates for Swift's AsyncContext, kept because resume is executable. */
    WD_RECORD_ASYNC_CONTEXTS = 6,
    /* struct wd_module, then its path as in the maps file (no NUL). */
    WD_RECORD_MODULE = 7,
    /* One struct wd_python: the process runs CPython. */
    WD_RECORD_PYTHON = 8,
    /* struct wd_python_code, then the bytes of its name, file and location table. The first one has index 0. */
    WD_RECORD_PYTHON_CODE = 9,
    /* struct wd_python_stack, then an array of struct wd_python_frame, innermost first. */
    WD_RECORD_PYTHON_STACK = 10,
    /* struct wd_perf_map: the file in which the process's JIT compiler lists its functions. */
    WD_RECORD_PERF_MAP = 11,
    /* struct wd_memory_range, then its bytes: the outermost part of the stack of thread `owner`, if the other
     * records do not reach it. */
    WD_RECORD_OUTER_STACK = 12,
    /* One struct wd_go: the process is a Go program. */
    WD_RECORD_GO = 13,
    /* struct wd_goroutine, then the bytes of its stack from its stack pointer on, none if it is on a thread. */
    WD_RECORD_GOROUTINE = 14,
    /* One struct wd_java: the process runs HotSpot, OpenJDK's virtual machine. */
    WD_RECORD_JAVA = 15,
    /* struct wd_java_method, then the bytes of its class, name and file. The first one has index 0. */
    WD_RECORD_JAVA_METHOD = 16,
    /* struct wd_java_stack, then an array of struct wd_java_frame, innermost first. */
    WD_RECORD_JAVA_STACK = 17,
    /* One struct wd_v8: the process runs V8. */
    WD_RECORD_V8 = 18,
    /* struct wd_v8_function, then the bytes of its name and file. The first one has index 0. */
    WD_RECORD_V8_FUNCTION = 19,
    /* struct wd_v8_stack, then an array of struct wd_v8_frame, innermost first. */
    WD_RECORD_V8_STACK = 20,
};

/* Order of struct wd_thread.registers: DWARF numbering for x86-64 (System V psABI, figure 3.36) for 0...16, then the
 * rest. */
enum wd_register {
    WD_RAX = 0, WD_RDX, WD_RCX, WD_RBX, WD_RSI, WD_RDI, WD_RBP, WD_RSP,
    WD_R8, WD_R9, WD_R10, WD_R11, WD_R12, WD_R13, WD_R14, WD_R15,
    WD_RIP = 16,
    WD_RFLAGS, WD_ORIG_RAX, WD_CS, WD_SS, WD_FS_BASE, WD_GS_BASE,
    WD_REGISTER_COUNT
};

enum wd_register_source {
    WD_REGISTERS_NONE = 0,
    WD_REGISTERS_PTRACE = 1,       /* all registers */
    /* Only RSP and RIP and, in a system call, ORIG_RAX and the registers of the six arguments, from
     * /proc/PID/task/TID/syscall. */
    WD_REGISTERS_SYSCALL_FILE = 2,
};

/* Text fields are NUL-terminated, read before the freeze: a stopped thread shows the stop instead of its wait. */
struct wd_thread {
    int32_t tid;
    uint8_t state;           /* the letter of /proc/PID/task/TID/stat field 3 */
    uint8_t register_source; /* enum wd_register_source */
    uint16_t reserved;
    uint64_t registers[WD_REGISTER_COUNT];
    uint64_t run_ns;      /* schedstat field 1 */
    uint64_t wait_ns;     /* schedstat field 2: run delay */
    uint64_t slices;      /* schedstat field 3 */
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t user_ticks;   /* stat field 14 */
    uint64_t system_ticks; /* stat field 15 */
    char name[16];
    char wait_channel[64];
    char syscall_text[192]; /* /proc/PID/task/TID/syscall */
    char kernel_stack[1024]; /* /proc/PID/task/TID/stack; empty unless root */
};

struct wd_memory_range {
    uint64_t address;
    uint64_t owner; /* tid, or 0 */
};

struct wd_async_context {
    uint64_t address;
    uint64_t parent;
    uint64_t resume;
};

struct wd_module {
    uint64_t start;      /* first mapping of the file, as in maps */
    uint32_t descriptor; /* index among the module descriptors, or UINT32_MAX if it could not be opened */
    uint32_t path_length;
};

struct wd_perf_map {
    uint32_t descriptor; /* of the file, as in struct wd_module */
    uint32_t reserved;
};

#define WD_PYTHON_MAX_CODES 4096
#define WD_PYTHON_MAX_FRAMES 65536
#define WD_PYTHON_STACK_FRAMES 512   /* of one thread */
#define WD_PYTHON_NAME_BYTES 2048    /* of a function's name or a file's path: whole characters */
#define WD_PYTHON_TABLE_BYTES 65536  /* of a location table */

enum wd_python_reading {
    WD_PYTHON_READ = 0,            /* the stacks of all threads whose registers are in the snapshot */
    WD_PYTHON_UNKNOWN_VERSION = 1, /* the layout of this version is unknown */
    WD_PYTHON_CUT = 2,             /* as WD_PYTHON_READ, but a limit was reached */
};

struct wd_python {
    uint32_t version; /* PY_VERSION_HEX, without the patch level before 3.11; 0: older than 3.9 */
    uint32_t reading; /* enum wd_python_reading */
    uint64_t evaluator;        /* the address of _PyEval_EvalFrameDefault, or 0 */
    uint64_t evaluator_length; /* in bytes */
    int32_t lock_holder;       /* the thread that holds the interpreter's lock (GIL), or 0 */
    uint32_t reserved;
};

struct wd_python_code {
    int32_t first_line;
    uint8_t name_kind, file_kind; /* bytes per character: 1 (Latin-1), 2 or 4 */
    uint16_t reserved;
    uint32_t name_length, file_length, table_length; /* in bytes */
    uint32_t reserved2;
};

enum wd_python_frame_flag {
    WD_PYTHON_ENTRY = 1, /* the outermost frame of one call of _PyEval_EvalFrameDefault */
};

struct wd_python_frame {
    uint32_t code;       /* index among the records of codes; UINT32_MAX: unknown */
    int32_t instruction; /* index of the code unit; negative: the function has not begun */
    uint32_t flags;
};

struct wd_python_stack {
    int32_t tid;
    uint32_t reserved;
};

#define WD_GO_MAX_GOROUTINES 256
#define WD_GO_MAX_STATUS 11
#define WD_GO_REASON_BYTES 32 /* the longest of Go 1.27 has 25 characters */

enum wd_go_reading {
    WD_GO_READ = 0,    /* all goroutines were looked at; those beyond the limit are only counted */
    WD_GO_UNKNOWN = 1, /* the list of goroutines was not found */
    WD_GO_CUT = 2,     /* reading the list reached a limit */
};

struct wd_go {
    char version[32];  /* such as "go1.22.10"; NUL-terminated, empty if unknown */
    uint32_t reading;  /* enum wd_go_reading */
    uint32_t alive;    /* how many goroutines exist, those of the runtime included */
    uint32_t active;   /* how many of them run, could run, or are in a system call */
    uint32_t reserved;
};

struct wd_goroutine {
    uint64_t id;
    uint64_t pc, sp, bp;
    uint64_t stack_low, stack_high;
    uint64_t waiting_since; /* CLOCK_MONOTONIC, at the latest; 0: unknown. Garbage collection sets it. */
    int32_t tid;            /* the thread on which it runs; 0: none, or unknown */
    uint32_t status;        /* atomicstatus, without the bit of the garbage collector */
    char reason[WD_GO_REASON_BYTES]; /* of its wait, in Go's words; NUL-terminated, empty if unknown */
    int32_t polled;         /* the descriptor for which it waits; -1: none, or unknown */
    uint32_t reserved;
};

#define WD_JAVA_MAX_METHODS 4096
#define WD_JAVA_MAX_FRAMES 16384
#define WD_JAVA_STACK_FRAMES 512 /* of one thread */
#define WD_JAVA_NAME_BYTES 512   /* of a class, a method or a file */

enum wd_java_reading {
    WD_JAVA_READ = 0,            /* all threads of Java were looked at */
    WD_JAVA_UNKNOWN_VERSION = 1, /* this version does not describe what is needed */
    WD_JAVA_CUT = 2,             /* reading the threads reached a limit */
};

struct wd_java {
    uint32_t version; /* such as 17; 0: unknown */
    uint32_t reading; /* enum wd_java_reading */
};

/* Its texts are in the modified UTF-8 of class files. */
struct wd_java_method {
    uint32_t class_length, name_length, file_length; /* in bytes */
    uint32_t reserved;
};

struct wd_java_frame {
    uint64_t pc;
    uint64_t sp, bp; /* of a boundary */
    uint32_t method; /* index among the records of methods; UINT32_MAX: a boundary, whose caller is native code at pc */
    int32_t line;    /* in the file; 0: unknown */
};

struct wd_java_stack {
    int32_t tid;
    int32_t lock_owner; /* the thread that has the lock of an object for which this one waits; 0: none, or unknown */
};

#define WD_V8_MAX_FUNCTIONS 2048
#define WD_V8_MAX_FRAMES 8192
#define WD_V8_STACK_FRAMES 1024 /* of one thread */
#define WD_V8_NAME_BYTES 1024   /* of a function or a file: whole characters */

enum wd_v8_reading {
    WD_V8_READ = 0,            /* all threads were looked at */
    WD_V8_UNKNOWN_VERSION = 1, /* this version does not describe what is needed */
    WD_V8_CUT = 2,             /* reading the frames reached a limit */
};

struct wd_v8 {
    uint32_t reading; /* enum wd_v8_reading */
    uint32_t reserved;
};

struct wd_v8_function {
    int32_t line; /* at which the function begins; 0: unknown */
    uint8_t name_kind, file_kind; /* bytes per character: 1 (Latin-1) or 2 (UTF-16) */
    uint16_t reserved;
    uint32_t name_length, file_length; /* in bytes */
};

/* A place on the stack that looks like a frame of JavaScript. It may be left over from an earlier call: it is a frame if
 * unwinding comes to one with this frame pointer. */
struct wd_v8_frame {
    uint64_t bp;
    uint32_t function; /* index among the records of functions */
    uint32_t reserved;
};

struct wd_v8_stack {
    int32_t tid;
    uint32_t reserved;
};

_Static_assert(sizeof(struct wd_v8) == 8, "layout");
_Static_assert(sizeof(struct wd_v8_function) == 16, "layout");
_Static_assert(sizeof(struct wd_v8_frame) == 16, "layout");
_Static_assert(sizeof(struct wd_java) == 8, "layout");
_Static_assert(sizeof(struct wd_java_method) == 16, "layout");
_Static_assert(sizeof(struct wd_java_frame) == 32, "layout");
_Static_assert(sizeof(struct wd_go) == 48, "layout");
_Static_assert(sizeof(struct wd_goroutine) == 104, "layout");
_Static_assert(sizeof(struct wd_python) == 32, "layout");
_Static_assert(sizeof(struct wd_python_code) == 24, "layout");
_Static_assert(sizeof(struct wd_python_frame) == 12, "layout");
_Static_assert(sizeof(struct wd_snapshot_header) == 16, "layout");
_Static_assert(sizeof(struct wd_record) == 16, "layout");
_Static_assert(sizeof(struct wd_thread) == 8 + 8 * 23 + 8 * 7 + 16 + 64 + 192 + 1024, "layout");
