/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the user whose server a FUSE file has. open, stat and close are requests to that server, and an unanswered
 * request is uninterruptible. So this reads lists of the kernel, which involve no file system.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

static const char connections[] = "/sys/fs/fuse/connections";
static const long fusectl_magic = 0x65735543;

static bool is_other(unsigned user) { return user != 0 && user != geteuid(); }

/* MAJOR:MINOR is the third field, the type the first after " - ", and the user an option: proc_pid_mountinfo(5). */
static bool is_other_in_line(const char *line, uint32_t major, uint32_t minor) {
    unsigned line_major, line_minor;
    if (sscanf(line, "%*u %*u %u:%u ", &line_major, &line_minor) != 2 || line_major != major || line_minor != minor)
        return false;
    const char *type = strstr(line, " - fuse"), *user = type == NULL ? NULL : strstr(type, "user_id=");
    return user != NULL && is_other((unsigned)strtoul(user + strlen("user_id="), NULL, 10));
}

static bool is_other_in_mounts(uint32_t major, uint32_t minor) {
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    if (mounts == NULL) return false;
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (!found && getline(&line, &size, mounts) > 0) found = is_other_in_line(line, major, minor);
    free(line);
    fclose(mounts);
    return found;
}

/* The answer matters to root only for mounts with allow_other: FUSE refuses even root otherwise. */
bool wd_has_other_server(uint32_t major, uint32_t minor) {
    struct statfs system;
    if (statfs(connections, &system) != 0 || system.f_type != fusectl_magic)
        return major == 0 && is_other_in_mounts(major, minor);
    char path[64];
    struct stat status;
    /* fs/fuse/control.c: the folder of a connection has its device number as its name, and the mounting user as its
       owner. */
    snprintf(path, sizeof path, "%s/%u", connections, major << 20 | minor);
    return stat(path, &status) == 0 && is_other(status.st_uid);
}
