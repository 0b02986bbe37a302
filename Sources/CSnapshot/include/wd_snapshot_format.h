/* SPDX-License-Identifier: Apache-2.0
 *
 * The snapshot: what stage 1 takes from a hung process and stage 2 unwinds, handed over in a memfd.
 *
 * A 16-byte header, then records until the end. Every record starts at an offset divisible by 8 and is followed by zero
 * padding up to the next such offset. Integers are little-endian and in host layout: writer and reader always run on
 * the same host. The reader treats the whole file as hostile: kinds it does not know are skipped, lengths are checked
 * against what is left, counts are bounded by the limits below.
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
    /* UTF-8 "KEY=VALUE\n" lines: PID, START_TIME (clock ticks, /proc/PID/stat field 22), UID, PPID, COMM, EXE,
     * ARCH ("x86-64"), CAPTURED_AT (CLOCK_MONOTONIC ns), FROZEN_NS (first stop asked for to last release or kill),
     * METHOD ("ptrace", "procfs-registers", "procfs"), REASON (why not a better method; absent for "ptrace"),
     * TRACER_PID, TRUNCATED (what limit was hit). */
    WD_RECORD_PROCESS = 1,
    /* /proc/PID/maps, verbatim. */
    WD_RECORD_MAPS = 2,
    /* One struct wd_thread. */
    WD_RECORD_THREAD = 3,
    /* struct wd_memory_range, then its bytes: a part of the stack of thread `owner`. */
    WD_RECORD_STACK = 4,
    /* struct wd_memory_range, then its bytes: the vDSO's ELF image. owner is 0. */
    WD_RECORD_VDSO = 5,
    /* An array of struct wd_async_context: candidates for Swift's AsyncContext, kept because resume is executable. */
    WD_RECORD_ASYNC_CONTEXTS = 6,
    /* struct wd_module, then its path as in the maps file (no NUL). */
    WD_RECORD_MODULE = 7,
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
    WD_REGISTERS_PTRACE = 1,       /* all of them */
    /* Only RSP and RIP (and ORIG_RAX when in a system call), from /proc/PID/task/TID/syscall. */
    WD_REGISTERS_SYSCALL_FILE = 2,
};

/* Text fields are NUL-terminated, read before the freeze: a stopped thread shows the stop, not what it waited for. */
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
    uint32_t descriptor; /* index among the module descriptors handed over, or UINT32_MAX when it could not be opened */
    uint32_t path_length;
};

_Static_assert(sizeof(struct wd_snapshot_header) == 16, "layout");
_Static_assert(sizeof(struct wd_record) == 16, "layout");
_Static_assert(sizeof(struct wd_thread) == 8 + 8 * 23 + 8 * 7 + 16 + 64 + 192 + 1024, "layout");
