/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_record_event.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void fill(struct perf_event_attr *attributes, const struct wd_record_event *event) {
    switch (event->kind) {
    case WD_RECORD_TASK:
        attributes->type = PERF_TYPE_SOFTWARE;
        attributes->config = PERF_COUNT_SW_DUMMY;
        attributes->context_switch = attributes->task = attributes->comm = attributes->comm_exec = 1;
        /* mmap_data also records the mprotect(2) with which ld.so ends the relocation of an object (RELRO). */
        attributes->mmap = attributes->mmap2 = attributes->mmap_data = 1;
        break;
    case WD_RECORD_TRACEPOINT:
        attributes->type = PERF_TYPE_TRACEPOINT;
        attributes->config = event->value;
        attributes->sample_period = 1;
        attributes->sample_type |= PERF_SAMPLE_RAW;
        break;
    case WD_RECORD_BREAKPOINT:
        attributes->type = PERF_TYPE_BREAKPOINT;
        attributes->bp_type = HW_BREAKPOINT_X;
        attributes->bp_addr = event->value;
        attributes->bp_len = sizeof(long);
        attributes->sample_period = 1;
        /* An execve(2) would arm it at an address of another program, and without a limit of hits. */
        attributes->disabled = 1;
        attributes->enable_on_exec = 0;
        break;
    case WD_RECORD_CLOCK:
        attributes->type = PERF_TYPE_SOFTWARE;
        attributes->config = PERF_COUNT_SW_TASK_CLOCK;
        attributes->sample_period = event->value;
        attributes->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
        attributes->exclude_callchain_kernel = 1;
        attributes->sample_max_stack = 64;
        break;
    case WD_RECORD_NOTHING:
        attributes->type = PERF_TYPE_SOFTWARE;
        attributes->config = PERF_COUNT_SW_DUMMY;
        break;
    }
}

static void prepare(struct perf_event_attr *attributes) {
    memset(attributes, 0, sizeof *attributes);
    attributes->size = sizeof *attributes;
    attributes->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attributes->sample_id_all = attributes->use_clockid = 1;
    attributes->clockid = CLOCK_MONOTONIC;
    attributes->watermark = 1;
    attributes->wakeup_watermark = 32 << 10;
}

static int open_event(struct perf_event_attr *attributes, pid_t process, int cpu, uint64_t *id) {
    int descriptor = (int)syscall(SYS_perf_event_open, attributes, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) return -1;
    if (ioctl(descriptor, PERF_EVENT_IOC_ID, id) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

int wd_record_event_open(const struct wd_record_event *event, pid_t process, int cpu, uint64_t *id) {
    struct perf_event_attr attributes;
    prepare(&attributes);
    attributes.disabled = attributes.enable_on_exec = !event->is_enabled;
    attributes.exclude_kernel = event->excludes_kernel;
    attributes.inherit = event->inherits;
    fill(&attributes, event);
    return open_event(&attributes, process, cpu, id);
}

int wd_record_uprobe_open(uint32_t type, const char *path, uint64_t offset, pid_t process, uint64_t *id) {
    struct perf_event_attr attributes;
    prepare(&attributes);
    attributes.type = type;
    attributes.uprobe_path = (uint64_t)(uintptr_t)path;
    attributes.probe_offset = offset;
    attributes.sample_period = 1;
    return open_event(&attributes, process, -1, id);
}

int wd_record_event_redirect(int event, int ring) { return ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, ring); }
int wd_record_event_enable(int event) { return ioctl(event, PERF_EVENT_IOC_ENABLE, 0); }
int wd_record_event_arm(int event, int hits) { return ioctl(event, PERF_EVENT_IOC_REFRESH, hits); }
int wd_record_event_disable(int event) { return ioctl(event, PERF_EVENT_IOC_DISABLE, 0); }

/* From linux/mount.h, which older systems lack. */
enum { CREATE_SUPERBLOCK = 6, CLOSE_ON_EXEC = 1 };

int wd_record_tracefs(void) {
    int context = (int)syscall(SYS_fsopen, "tracefs", CLOSE_ON_EXEC);
    if (context < 0) return -1;
    int mounted = -1;
    if (syscall(SYS_fsconfig, context, CREATE_SUPERBLOCK, NULL, NULL, 0) == 0)
        mounted = (int)syscall(SYS_fsmount, context, CLOSE_ON_EXEC, 0);
    int error = errno;
    close(context);
    errno = error;
    return mounted;
}
