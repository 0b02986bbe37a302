/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_instructions.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int wd_instructions_open(void) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    /* Each descendant has its own copy, which the execve(2) of that descendant enables. */
    attributes.disabled = attributes.enable_on_exec = attributes.inherit = 1;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int64_t wd_instructions_read(int counter) {
    struct {
        uint64_t count, enabled, running;
    } values;
    ssize_t size = read(counter, &values, sizeof values);
    if (size != sizeof values) return errno = size < 0 ? errno : EIO, -1;
    if (values.running != values.enabled) return errno = EAGAIN, -1;
    return (int64_t)values.count;
}
