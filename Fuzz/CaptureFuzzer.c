/* SPDX-License-Identifier: Apache-2.0
 *
 * What a capture reads of /proc in C: a folder stands in for /proc/PID/task, with the input's parts, which the byte 0x1e
 * divides, as the files of one thread.
 */
#include "../Sources/3-Capture/CSnapshot/internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"maps", "stat", "status", "syscall", "schedstat", "wchan", "stack"};
static const size_t name_count = sizeof names / sizeof *names;
static struct wd_snapshot_arena *arena;
static int folder, thread_folder;
static char path[] = "/dev/shm/watchdogd-fuzz-XXXXXX";

static void clean_up(void) {
    for (size_t i = 0; i < name_count; i++) unlinkat(thread_folder, names[i], 0);
    unlinkat(folder, "1", AT_REMOVEDIR);
    rmdir(path);
}

static void require(bool condition) {
    if (!condition) abort();
}

static void set_up(void) {
    arena = wd_snapshot_arena_create(0);
    if (mkdtemp(path) == NULL) abort();
    folder = open(path, O_DIRECTORY | O_RDONLY);
    mkdirat(folder, "1", 0700);
    thread_folder = openat(folder, "1", O_DIRECTORY | O_RDONLY);
    require(arena != NULL && thread_folder >= 0);
    atexit(clean_up);
}

static void write_file(const char *name, const uint8_t *bytes, size_t count) {
    int file = openat(thread_folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    require(file >= 0 && write(file, bytes, count) == (ssize_t)count);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    if (arena == NULL) set_up();
    for (size_t i = 0; i < name_count; i++) {
        const uint8_t *end = memchr(bytes, 0x1e, count);
        size_t length = end == NULL ? count : (size_t)(end - bytes);
        write_file(names[i], bytes, length);
        bytes += length + (end != NULL);
        count -= length + (end != NULL);
    }
    memset(arena, 0, offsetof(struct wd_snapshot_arena, scratch));
    arena->pid = 1;
    arena->task_directory = folder;
    bool added;
    require(wd_list_threads(arena, &added) == 0 && arena->thread_count == 1 && arena->slots[0].thread.tid == 1);
    struct wd_thread *thread = &arena->slots[0].thread;
    wd_read_thread_facts(arena, &arena->slots[0], true);
    require(memchr(thread->name, 0, sizeof thread->name) && memchr(thread->syscall_text, 0, sizeof thread->syscall_text)
            && memchr(thread->wait_channel, 0, sizeof thread->wait_channel)
            && memchr(thread->kernel_stack, 0, sizeof thread->kernel_stack));
    wd_parse_syscall(thread->syscall_text, thread);
    thread->state = 'S';
    if (wd_read_maps(arena) != 0) return 0;
    uint64_t previous = 0;
    for (size_t i = 0; i < arena->mapping_count; i++) {
        const struct wd_mapping *mapping = &arena->mappings[i];
        require(mapping->start >= previous && mapping->start < mapping->end);
        require(mapping->path_offset + (size_t)mapping->path_length <= arena->maps_length);
        require(wd_find_mapping(arena, mapping->start) == mapping && wd_find_mapping(arena, mapping->end - 1) == mapping);
        bool executable = wd_in_intervals(arena->executables, arena->executable_count, mapping->start);
        require(executable == ((mapping->permissions & WD_EXECUTABLE) != 0));
        wd_path_contains(arena, mapping, "libswift_Concurrency");
        previous = mapping->end;
    }
    return 0;
}
