/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what /proc shows of a thread: proc(5). That happens before the freeze, because a stopped thread shows the
 * stop instead of its wait.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads at most size - 1 bytes and adds a NUL. Returns their number or -errno. */
ssize_t wd_read_at(int directory, const char *name, char *buffer, size_t size) {
    buffer[0] = '\0';
    int file = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return -errno;
    size_t length = 0;
    ssize_t got = 0;
    while (length < size - 1) {
        got = read(file, buffer + length, size - 1 - length);
        if (got <= 0) break;
        length += (size_t)got;
    }
    int error = errno;
    close(file);
    buffer[length] = '\0';
    if (got < 0 && length == 0) return -error;
    return (ssize_t)length;
}

static void trim_newline(char *text) {
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '\n') text[length - 1] = '\0';
}

/* The kernel writes a newline in a name as \n and a backslash as \\, so that a name cannot forge fields. */
static void copy_name(char *name, size_t size, const char *text, const char *end) {
    size_t length = 0;
    while (text < end && length < size - 1) {
        char byte = *text++;
        if (byte == '\\' && text < end) {
            byte = *text == 'n' ? '\n' : *text;
            text++;
        }
        name[length++] = byte;
    }
    name[length] = '\0';
}

static bool parse_stat(struct wd_snapshot_arena *arena, struct wd_thread *thread, const char *text) {
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')'); /* a name may contain parentheses */
    if (open == NULL || close == NULL || close < open || close[1] != ' ' || close[2] == '\0') return false;
    copy_name(thread->name, sizeof thread->name, open + 1, close);
    thread->state = (uint8_t)close[2];
    const char *field = close + 3;
    uint64_t values[25] = {0}; /* fields 4 to 28 */
    for (size_t i = 4; i <= 28; i++) {
        char *next;
        values[i - 4] = strtoull(field, &next, 10);
        if (next == field) return false;
        field = next;
    }
    thread->user_ticks = values[14 - 4];
    thread->system_ticks = values[15 - 4];
    if (thread->tid == arena->pid) {
        arena->parent = (pid_t)values[4 - 4];
        arena->start_time = values[22 - 4];
        arena->stack_base = values[28 - 4];
    }
    return true;
}

static uint64_t field_after(const char *text, const char *key) {
    const char *found = strstr(text, key);
    return found == NULL ? 0 : strtoull(found + strlen(key), NULL, 10);
}

/* "running", "-1 SP PC" outside a system call, or "NR A0 A1 A2 A3 A4 A5 SP PC". */
bool wd_parse_syscall(const char *text, struct wd_thread *thread) {
    uint64_t values[9];
    size_t count = 0;
    const char *cursor = text;
    while (count < 9) {
        char *next;
        values[count] = strtoull(cursor, &next, 0);
        if (next == cursor) break;
        cursor = next;
        count++;
    }
    if (count != 9 && !(count == 3 && text[0] == '-')) return false;
    uint64_t stack = values[count - 2];
    uint64_t program = values[count - 1];
    if (stack == 0 || program == 0) return false;
    memset(thread->registers, 0, sizeof thread->registers);
    thread->registers[WD_RSP] = stack;
    thread->registers[WD_RIP] = program;
    thread->registers[WD_ORIG_RAX] = values[0];
    static const int arguments[] = {WD_RDI, WD_RSI, WD_RDX, WD_R10, WD_R8, WD_R9};
    for (size_t i = 0; count == 9 && i < 6; i++) thread->registers[arguments[i]] = values[1 + i];
    thread->register_source = WD_REGISTERS_SYSCALL_FILE;
    return true;
}

/* Reads the facts of slot's thread; only the cheap ones unless `all`. Returns 0, or an errno if the thread is gone.
 * The order matters: state, system call and wait channel must be from one moment. */
int wd_read_thread_facts(struct wd_snapshot_arena *arena, struct wd_slot *slot, bool all) {
    struct wd_thread *thread = &slot->thread;
    char *scratch = arena->scratch;
    char name[16];
    snprintf(name, sizeof name, "%d", thread->tid);
    int directory = openat(arena->task_directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return errno;

    ssize_t length = wd_read_at(directory, "stat", scratch, 2048);
    if (length <= 0 || !parse_stat(arena, thread, scratch)) {
        close(directory);
        return length < 0 ? (int)-length : ESRCH;
    }
    bool exited = thread->state == 'Z' || thread->state == 'X';
    if (!exited && !arena->denied_syscall) {
        length = wd_read_at(directory, "syscall", thread->syscall_text, sizeof thread->syscall_text);
        if (length == -EACCES || length == -EPERM) arena->denied_syscall = true;
        trim_newline(thread->syscall_text);
    }
    if (!exited && all) {
        wd_read_at(directory, "wchan", thread->wait_channel, sizeof thread->wait_channel);
        if (strcmp(thread->wait_channel, "0") == 0) thread->wait_channel[0] = '\0';
        if (!arena->denied_stack) {
            length = wd_read_at(directory, "stack", thread->kernel_stack, sizeof thread->kernel_stack);
            if (length == -EACCES || length == -EPERM) arena->denied_stack = true;
        }
    }
    if (all) {
        if (wd_read_at(directory, "schedstat", scratch, 128) > 0) {
            char *cursor = scratch;
            thread->run_ns = strtoull(cursor, &cursor, 10);
            thread->wait_ns = strtoull(cursor, &cursor, 10);
            thread->slices = strtoull(cursor, &cursor, 10);
        }
        if (wd_read_at(directory, "status", scratch, sizeof arena->scratch) > 0) {
            thread->voluntary_switches = field_after(scratch, "\nvoluntary_ctxt_switches:");
            thread->involuntary_switches = field_after(scratch, "\nnonvoluntary_ctxt_switches:");
            if (thread->tid == arena->pid) {
                arena->uid = (uint32_t)field_after(scratch, "\nUid:");
            }
            int32_t tracer = (int32_t)field_after(scratch, "\nTracerPid:");
            if (tracer != 0) arena->tracer = tracer;
        }
    }
    close(directory);
    return 0;
}

char wd_thread_state(struct wd_snapshot_arena *arena, pid_t tid) {
    char name[32], text[256];
    snprintf(name, sizeof name, "%d/stat", tid);
    if (wd_read_at(arena->task_directory, name, text, sizeof text) <= 0) return 'X';
    const char *close = NULL;
    for (const char *byte = text; *byte != '\0'; byte++)
        if (*byte == ')') close = byte;
    return close != NULL && close[1] == ' ' ? close[2] : '?';
}

void wd_read_wait(struct wd_snapshot_arena *arena, struct wd_thread *thread) {
    char path[32], text[512];
    snprintf(path, sizeof path, "%d/stat", thread->tid);
    if (wd_read_at(arena->task_directory, path, text, sizeof text) > 0) {
        const char *close = strrchr(text, ')');
        if (close != NULL && close[1] == ' ') thread->state = (uint8_t)close[2];
    }
    snprintf(path, sizeof path, "%d/wchan", thread->tid);
    wd_read_at(arena->task_directory, path, thread->wait_channel, sizeof thread->wait_channel);
    if (strcmp(thread->wait_channel, "0") == 0) thread->wait_channel[0] = '\0';
}

uint64_t wd_count_blocks(struct wd_snapshot_arena *arena, pid_t tid) {
    char name[32];
    snprintf(name, sizeof name, "%d/status", tid);
    if (wd_read_at(arena->task_directory, name, arena->scratch, sizeof arena->scratch) <= 0) return UINT64_MAX;
    return field_after(arena->scratch, "\nvoluntary_ctxt_switches:");
}

int32_t wd_own_tid(struct wd_snapshot_arena *arena, pid_t tid) {
    char name[32];
    snprintf(name, sizeof name, "%d/status", tid);
    if (wd_read_at(arena->task_directory, name, arena->scratch, sizeof arena->scratch) <= 0) return -1;
    const char *line = strstr(arena->scratch, "\nNSpid:"), *last = NULL;
    if (line == NULL) return tid;
    for (line += 7; *line == '\t'; line += strcspn(line, "\t\n")) last = ++line;
    return last == NULL ? -1 : (int32_t)strtol(last, NULL, 10);
}

bool wd_has_run(struct wd_snapshot_arena *arena, const struct wd_thread *thread) {
    char name[32], text[128];
    snprintf(name, sizeof name, "%d/schedstat", thread->tid);
    if (thread->run_ns == 0 || wd_read_at(arena->task_directory, name, text, sizeof text) <= 0) return false;
    return strtoull(text, NULL, 10) - thread->run_ns > (wd_now() - arena->result->times.first_stop) / 2;
}
