/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of the mapped executables, which outlive the process and show the mapped file even when another one has
 * taken its path. While the process lives, files are only pinned: O_PATH through a magic link of /proc neither walks a
 * path nor calls into a file system, so nothing can block before the kill. Opening comes afterwards.
 *
 * The same holds for the perf map, in which a JIT compiler lists its functions: the file /tmp/perf-PID.map of the
 * process's own mount namespace, with the id of its own PID namespace (tools/perf/Documentation/jit-interface.txt of
 * the kernel). It must be a regular file that the process's user owns, and no symbolic link is followed: the process
 * must not make us read, with our rights, a file that its user could not.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const long btrfs_magic = 0x9123683E;

static bool same_file(const struct wd_pin *pin, const struct wd_mapping *mapping) {
    return pin->inode == mapping->inode && pin->major == mapping->major && pin->minor == mapping->minor;
}

/* Creates one pin for every run of mappings of one file that contains code: a library may be mapped twice. */
static void collect(struct wd_snapshot_arena *arena) {
    const struct wd_mapping *previous = NULL;
    uint64_t run_start = 0;
    bool pinned = false;
    for (size_t i = 0; i < arena->mapping_count; i++) {
        const struct wd_mapping *mapping = &arena->mappings[i];
        if (mapping->inode == 0 || mapping->path_length == 0 || arena->maps_text[mapping->path_offset] != '/') continue;
        if (previous == NULL || previous->inode != mapping->inode || previous->major != mapping->major
            || previous->minor != mapping->minor) {
            run_start = mapping->start;
            pinned = false;
        }
        previous = mapping;
        if (pinned || !(mapping->permissions & WD_EXECUTABLE)) continue;
        if (arena->pin_count == WD_SNAPSHOT_MAX_MODULES) {
            wd_note_truncation(arena, "more than 1024 images");
            return;
        }
        pinned = true;
        uint32_t index = (uint32_t)arena->pin_count;
        struct wd_pin *pin = &arena->pins[arena->pin_count++];
        *pin = (struct wd_pin){
            .start = run_start, .inode = mapping->inode, .major = mapping->major, .minor = mapping->minor,
            .path_offset = mapping->path_offset, .path_length = mapping->path_length, .descriptor = -1,
            .same_as = index, .descriptor_index = UINT32_MAX,
        };
        for (uint32_t earlier = 0; earlier < index; earlier++) {
            if (!same_file(&arena->pins[earlier], mapping)) continue;
            pin->same_as = arena->pins[earlier].same_as;
            break;
        }
    }
}

static void pin_roots(struct wd_snapshot_arena *arena) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/root", arena->memory_tid);
    arena->root_directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* Holding the mount namespace keeps its mounts in place after the last process in it has died. */
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", arena->memory_tid);
    arena->mount_namespace = open(path, O_RDONLY | O_CLOEXEC);
}

/* Whether a mapping has generated code, which is in no file; JIT compilers that map it twice, once writable, use a
   memfd. */
static bool is_generated(const struct wd_snapshot_arena *arena, const struct wd_mapping *mapping) {
    if (!(mapping->permissions & WD_EXECUTABLE)) return false;
    if (mapping->path_length == 0) return true;
    const char *path = arena->maps_text + mapping->path_offset;
    if (mapping->inode == 0) return mapping->path_length < 2 || (memcmp(path, "[v", 2) != 0); /* [vdso], [vsyscall] */
    return (mapping->path_length > 7 && memcmp(path, "/memfd:", 7) == 0)
           || (mapping->path_length > 9 && memcmp(path, "/dev/zero", 9) == 0); /* shared memory without a name */
}

static bool has_generated_code(const struct wd_snapshot_arena *arena) {
    for (size_t i = 0; i < arena->mapping_count; i++)
        if (is_generated(arena, &arena->mappings[i])) return true;
    return false;
}

void wd_pin_modules(struct wd_snapshot_arena *arena) {
    char path[64];
    if (arena->perf_map_pid == 0 && has_generated_code(arena)) {
        int32_t own = wd_own_tid(arena, arena->pid);
        if (own > 0) arena->perf_map_pid = own;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", arena->memory_tid);
    arena->executable_pin = open(path, O_PATH | O_CLOEXEC);
    collect(arena);
    snprintf(path, sizeof path, "/proc/%d/map_files", arena->memory_tid);
    int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool permitted = directory >= 0, need_roots = arena->perf_map_pid != 0;
    for (size_t i = 0; i < arena->pin_count; i++) {
        struct wd_pin *pin = &arena->pins[i];
        if (pin->same_as != i) continue;
        const struct wd_mapping *mapping = wd_find_mapping(arena, pin->start);
        if (permitted && mapping != NULL) {
            snprintf(path, sizeof path, "%llx-%llx", (unsigned long long)mapping->start,
                     (unsigned long long)mapping->end);
            pin->descriptor = openat(directory, path, O_PATH | O_CLOEXEC);
            /* Following these links takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, proc(5). */
            if (pin->descriptor < 0 && errno == EPERM) permitted = false;
        }
        pin->from_map_files = pin->descriptor >= 0;
        if (!pin->from_map_files) need_roots = true;
    }
    if (directory >= 0) close(directory);
    if (need_roots) pin_roots(arena);
}

/* maps shows the superblock's device; stat(2) on btrfs returns another, anonymous one per subvolume, but the same
   inode number. */
static bool is_pinned_file(const struct wd_pin *pin, int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    if (pin->from_map_files) return true;
    if (status.st_ino != pin->inode) return false;
    if (major(status.st_dev) == pin->major && minor(status.st_dev) == pin->minor) return true;
    struct statfs system;
    return fstatfs(descriptor, &system) == 0 && system.f_type == btrfs_magic;
}

/* The kernel writes a newline in a path as \012. Nothing else is escaped, so a real "\012" is not found again. */
static bool copy_path(const struct wd_snapshot_arena *arena, const struct wd_pin *pin, char *path, size_t size) {
    const char *from = arena->maps_text + pin->path_offset;
    size_t length = 0;
    for (uint32_t i = 0; i < pin->path_length; length++) {
        if (length + 1 >= size) return false;
        if (pin->path_length - i >= 4 && memcmp(from + i, "\\012", 4) == 0) {
            path[length] = '\n';
            i += 4;
        } else {
            path[length] = from[i++];
        }
    }
    path[length] = '\0';
    return length > 0;
}

static int find_in_root(int root, const char *path) {
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static int find_by_path(struct wd_snapshot_arena *arena, const struct wd_pin *pin, int root) {
    if (root < 0 || !copy_path(arena, pin, arena->scratch, sizeof arena->scratch)) return -1;
    return find_in_root(root, arena->scratch);
}

/* A path in maps is relative to the reader's root if the file is reachable from there, otherwise to the root of its
   mount namespace. */
static int find(struct wd_snapshot_arena *arena, const struct wd_pin *pin) {
    int descriptor = arena->executable_pin >= 0 ? fcntl(arena->executable_pin, F_DUPFD_CLOEXEC, 3) : -1;
    if (descriptor >= 0 && is_pinned_file(pin, descriptor)) return descriptor;
    if (descriptor >= 0) close(descriptor);
    descriptor = find_by_path(arena, pin, arena->root_directory);
    if (descriptor >= 0 && is_pinned_file(pin, descriptor)) return descriptor;
    if (descriptor >= 0) close(descriptor);
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    descriptor = find_by_path(arena, pin, root);
    if (root >= 0) close(root);
    if (descriptor >= 0 && is_pinned_file(pin, descriptor)) return descriptor;
    if (descriptor >= 0) close(descriptor);
    return -1;
}

static int open_again(int descriptor) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Opens regular files only: opening a device or a pipe can have side effects. */
static int open_pinned(struct wd_snapshot_arena *arena, struct wd_pin *pin) {
    if (wd_has_other_server(pin->major, pin->minor)) return -1;
    if (pin->descriptor < 0) pin->descriptor = find(arena, pin);
    if (pin->descriptor < 0 || !is_pinned_file(pin, pin->descriptor)) return -1;
    return open_again(pin->descriptor);
}

static int open_perf_map(const struct wd_snapshot_arena *arena) {
    if (arena->perf_map_pid == 0 || arena->root_directory < 0) return -1;
    char path[48];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", arena->perf_map_pid);
    int found = find_in_root(arena->root_directory, path);
    if (found < 0) return -1;
    struct stat status;
    bool is_theirs = fstat(found, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == arena->uid;
    int descriptor = is_theirs ? open_again(found) : -1;
    close(found);
    return descriptor;
}

void wd_open_modules(struct wd_snapshot_arena *arena) {
    struct wd_snapshot_result *result = arena->result;
    uint32_t capacity = arena->request->module_fds == NULL ? 0 : arena->request->module_capacity;
    if (capacity > WD_SNAPSHOT_MAX_MODULES) capacity = WD_SNAPSHOT_MAX_MODULES;
    for (size_t i = 0; i < arena->pin_count; i++) {
        struct wd_pin *pin = &arena->pins[i];
        if (pin->same_as != i) {
            pin->descriptor_index = arena->pins[pin->same_as].descriptor_index;
            continue;
        }
        if (result->module_count == capacity) continue;
        int descriptor = open_pinned(arena, pin);
        if (descriptor < 0) continue;
        pin->descriptor_index = result->module_count;
        arena->request->module_fds[result->module_count++] = descriptor;
    }
    int map = result->module_count == capacity ? -1 : open_perf_map(arena);
    if (map < 0) return;
    arena->perf_map_descriptor = result->module_count;
    arena->request->module_fds[result->module_count++] = map;
}

static void close_if_open(int *descriptor) {
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

void wd_unpin_modules(struct wd_snapshot_arena *arena) {
    for (size_t i = 0; i < arena->pin_count; i++) close_if_open(&arena->pins[i].descriptor);
    close_if_open(&arena->executable_pin);
    close_if_open(&arena->root_directory);
    close_if_open(&arena->mount_namespace);
}
