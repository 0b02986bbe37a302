/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a recording: perf_event_open(2). All are stamped with CLOCK_MONOTONIC, and every record ends with, or
 * begins with, its thread, time, CPU and event: PERF_SAMPLE_IDENTIFIER, sample_id_all.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum wd_record_event_kind {
    WD_RECORD_TASK,       /* mappings, names, forks, exits and context switches of the process and its descendants */
    WD_RECORD_TRACEPOINT, /* value: the tracepoint's id */
    WD_RECORD_BREAKPOINT, /* value: an address of the process; the execution there, once it is armed */
    WD_RECORD_CLOCK,      /* value: nanoseconds of CPU time between two samples of the stack */
    WD_RECORD_NOTHING,    /* holds a ring */
};

struct wd_record_event {
    enum wd_record_event_kind kind;
    uint64_t value;
    bool excludes_kernel; /* what an ordinary user may see at perf_event_paranoid 2 */
    bool inherits;        /* covers descendants; the kernel then refuses to map a ring for all CPUs */
    bool is_enabled;      /* enabled immediately; otherwise at the process's next execve(2) */
};

/* Opens an event of a process (or -1: all) on a CPU (or -1: all), and stores its id. */
int wd_record_event_open(const struct wd_record_event *event, pid_t process, int cpu, uint64_t *id);

/* Opens an enabled event of a process on all CPUs: execution of the instruction at an offset in a file, which may be
 * mapped already. The kernel replaces the instruction by a breakpoint in that process alone (a uprobe). The last
 * close takes 80 ms.
 *
 * type: the number in /sys/bus/event_source/devices/uprobe/type. Without CAP_PERFMON, it fails with EACCES for every
 * path. */
int wd_record_uprobe_open(uint32_t type, const char *path, uint64_t offset, pid_t process, uint64_t *id);

/* Redirects the records of an event to the ring of another event on the same CPU. */
int wd_record_event_redirect(int event, int ring);

int wd_record_event_enable(int event);

/* Arms a breakpoint; the kernel disarms it at the last of the hits. An armed one slows all code that the CPU fetches with
 * it: a loop there may take six times as long. */
int wd_record_event_arm(int event, int hits);

int wd_record_event_disable(int event);

/* A descriptor of tracefs in a detached mount, which no other process sees: fsmount(2). Needs CAP_SYS_ADMIN. */
int wd_record_tracefs(void);
