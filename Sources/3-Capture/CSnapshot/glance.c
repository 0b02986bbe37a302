/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the registers and the stack of a thread on a CPU without stopping it: with perf_event_open(2), the kernel
 * copies them at a tick of the thread's CPU clock, which costs it some microseconds. No signal, no stop and no
 * interrupted system call, so this suits programs that watchdogd does not own.
 */
#include "internal.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

enum {
    PERIOD = 1000000,      /* ns of CPU time until the sample */
    PATIENCE = 30,         /* ms; a starved thread never ticks */
    STACK = 32 << 10,      /* with the registers, less than the 64 KiB of a record */
    RING = 64 << 10,       /* a power of two */
};

/* In the order of the bits, enum perf_event_x86_regs of <asm/perf_regs.h>. */
static const struct {
    uint8_t bit, number;
} sampled[] = {
    {0, WD_RAX}, {1, WD_RBX}, {2, WD_RCX}, {3, WD_RDX}, {4, WD_RSI}, {5, WD_RDI}, {6, WD_RBP}, {7, WD_RSP}, {8, WD_RIP},
    {9, WD_RFLAGS}, {10, WD_CS}, {11, WD_SS}, {16, WD_R8}, {17, WD_R9}, {18, WD_R10}, {19, WD_R11}, {20, WD_R12},
    {21, WD_R13}, {22, WD_R14}, {23, WD_R15},
};

enum { SAMPLED = sizeof sampled / sizeof *sampled };

/* The layout of a sample with PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER. */
struct record {
    struct perf_event_header header;
    uint64_t abi;
    uint64_t registers[SAMPLED];
    uint64_t stack_size; /* of the copy, which the number of valid bytes follows */
};

static int open_event(pid_t tid) {
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .size = sizeof attributes,
        .sample_period = PERIOD,
        .sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_stack_user = STACK,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .wakeup_events = 1,
    };
    for (size_t index = 0; index < SAMPLED; index++) attributes.sample_regs_user |= UINT64_C(1) << sampled[index].bit;
    return (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Copies the first record of the ring, which cannot wrap around; false if it is not a valid sample. */
static bool take_record(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap, const uint8_t *data,
                        uint64_t available) {
    struct record record;
    if (available < sizeof record) return false;
    memcpy(&record, data, sizeof record);
    if (record.header.type != PERF_RECORD_SAMPLE || record.abi != PERF_SAMPLE_REGS_ABI_64) return false;
    if (record.header.size > available || record.stack_size > STACK) return false;
    uint64_t valid = 0;
    if (record.stack_size > 0) {
        if (sizeof record + record.stack_size + sizeof valid > record.header.size) return false;
        memcpy(&valid, data + sizeof record + record.stack_size, sizeof valid);
        if (valid > record.stack_size) return false;
    }
    memset(slot->thread.registers, 0, sizeof slot->thread.registers);
    for (size_t index = 0; index < SAMPLED; index++)
        slot->thread.registers[sampled[index].number] = record.registers[index];
    slot->thread.register_source = WD_REGISTERS_PTRACE;
    wd_adopt_stack(arena, slot, cap, data + sizeof record, (size_t)valid);
    return true;
}

bool wd_glance_at_running(struct wd_snapshot_arena *arena, struct wd_slot *slot, size_t cap) {
    int event = open_event(slot->thread.tid);
    if (event < 0) return false;
    long page = sysconf(_SC_PAGESIZE);
    struct perf_event_mmap_page *ring = mmap(NULL, (size_t)page + RING, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    bool found = false;
    if (ring != MAP_FAILED) {
        struct pollfd entry = {.fd = event, .events = POLLIN};
        if (poll(&entry, 1, PATIENCE) == 1) {
            ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
            uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
            found = take_record(arena, slot, cap, (const uint8_t *)ring + page, head < RING ? head : RING);
        }
        munmap(ring, (size_t)page + RING);
    }
    close(event);
    return found;
}

#else
#error "Only x86-64 is supported: the snapshot format numbers its registers."
#endif
