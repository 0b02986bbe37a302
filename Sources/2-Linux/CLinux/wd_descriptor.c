/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

const int wd_open_path = O_PATH;

int wd_pipe(int ends[2], int flags) { return pipe2(ends, flags | O_CLOEXEC); }

int wd_duplicate_to(int source, int target) { return dup3(source, target, O_CLOEXEC); }

int wd_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int wd_eventfd_signal(int descriptor) { return eventfd_write(descriptor, 1); }

int wd_eventfd_clear(int descriptor) {
    eventfd_t value;
    if (eventfd_read(descriptor, &value) == 0) return 1;
    return errno == EAGAIN ? 0 : -1;
}
