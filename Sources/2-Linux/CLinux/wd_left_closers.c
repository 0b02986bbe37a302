/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_left_closers.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Longer than any /proc/PID/status that a process without supplementary groups has. */
enum { STATUS_ROOM = 8192 };

struct status {
    char text[STATUS_ROOM];
};

static bool read_file(int folder, const char *path, char *text, size_t room) {
    int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, text, room - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    return length > 0;
}

static bool read_status(int folder, const char *process, struct status *status) {
    char path[64];
    snprintf(path, sizeof path, "%s/status", process);
    return read_file(folder, path, status->text, sizeof status->text);
}

/* The value of a line, whose end is its length; NULL if there is none. */
static const char *value_of(const struct status *status, const char *field, size_t *length) {
    size_t size = strlen(field);
    for (const char *line = status->text; line != NULL && *line != 0;) {
        if (strncmp(line, field, size) == 0 && strncmp(line + size, ":\t", 2) == 0) {
            *length = strcspn(line + size + 2, "\n");
            return line + size + 2;
        }
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    return NULL;
}

static bool is_equal(
    const struct status *one, const char *field, const struct status *other, const char *field_of_other) {
    size_t length, length_of_other;
    const char *value = value_of(one, field, &length);
    const char *of_other = value_of(other, field_of_other, &length_of_other);
    return value != NULL && of_other != NULL && length == length_of_other && memcmp(value, of_other, length) == 0;
}

static unsigned long long number_of(const struct status *status, const char *field, int base) {
    size_t length;
    const char *value = value_of(status, field, &length);
    return value == NULL ? 0 : strtoull(value, NULL, base);
}

static bool has_same_rights(const struct status *one, const struct status *other) {
    static const char *const fields[] = {
        "Uid", "Gid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"};
    for (size_t index = 0; index < sizeof fields / sizeof *fields; index++)
        if (!is_equal(one, fields[index], other, fields[index])) return false;
    /* More than one number: it is in a namespace below. */
    return is_equal(one, "NSpid", one, "Pid");
}

/* Whether no watchdogd counts the processes of a session, which a source leads. The number stays taken until the last of
 * them has ended. */
static bool is_left(int folder, const struct status *closer) {
    struct status leader;
    size_t length;
    char number[16];
    int session = (int)number_of(closer, "NSsid", 10);
    if (session <= 0) return false;
    snprintf(number, sizeof number, "%d", session);
    if (session == getpid() || !read_status(folder, number, &leader)) return true;
    const char *state = value_of(&leader, "State", &length);
    bool has_ended = state != NULL && (*state == 'Z' || *state == 'X');
    return has_ended || (number_of(&leader, "ShdPnd", 16) & 1ULL << (WD_LEFT_ORPHANED - 1)) != 0;
}

static bool has_name(int folder, const char *process, uint32_t *owner) {
    char path[64], name[32], *end;
    snprintf(path, sizeof path, "%.20s/comm", process);
    if (!read_file(folder, path, name, sizeof name) || strncmp(name, WD_LEFT_NAME, strlen(WD_LEFT_NAME)) != 0)
        return false;
    const char *digits = name + strlen(WD_LEFT_NAME);
    unsigned long value = strtoul(digits, &end, 10);
    *owner = (uint32_t)value;
    return *digits >= '0' && *digits <= '9' && *end == '\n' && value <= UINT32_MAX;
}

/* A pidfd if it is one, or -1. */
static int open_left(int folder, const char *process, const struct status *own) {
    struct status status;
    int descriptor = (int)syscall(SYS_pidfd_open, atoi(process), 0);
    if (descriptor < 0) return -1;
    /* If it has not ended afterwards, what was read is about it. */
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};
    if (read_status(folder, process, &status) && has_same_rights(&status, own) && is_left(folder, &status)
        && poll(&entry, 1, 0) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

size_t wd_find_left_closers(struct wd_left_closer *found, size_t room) {
    struct status own;
    DIR *directory = opendir("/proc");
    if (directory == NULL) return 0;
    int folder = dirfd(directory);
    size_t count = 0;
    /* The /proc of another namespace has other numbers. */
    if (read_status(folder, "self", &own) && number_of(&own, "Pid", 10) == (unsigned long long)getpid()) {
        const struct dirent *entry;
        while (count < room && (entry = readdir(directory)) != NULL) {
            uint32_t owner;
            if (*entry->d_name < '1' || *entry->d_name > '9' || !has_name(folder, entry->d_name, &owner)) continue;
            int process = open_left(folder, entry->d_name, &own);
            if (process >= 0) found[count++] = (struct wd_left_closer){.process = process, .owner = owner};
        }
    }
    closedir(directory);
    return count;
}
