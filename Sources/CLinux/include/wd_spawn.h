/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a program from a process with threads, thousands of descriptors and a deadline to keep.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The steps of a launch, in the order in which the child takes them. */
enum wd_spawn_stage {
    WD_SPAWN_STAGE_NONE = 0,
    WD_SPAWN_STAGE_CLONE,
    WD_SPAWN_STAGE_CGROUP,
    WD_SPAWN_STAGE_SIGNALS,
    WD_SPAWN_STAGE_SESSION,
    WD_SPAWN_STAGE_FOREGROUND,
    WD_SPAWN_STAGE_UNSHARE,
    WD_SPAWN_STAGE_DESCRIPTOR, /* index: which of the planned descriptors */
    WD_SPAWN_STAGE_CLOSE,
    WD_SPAWN_STAGE_LIMIT, /* index: which of the limits */
    WD_SPAWN_STAGE_SCHEDULING,
    WD_SPAWN_STAGE_NICENESS,
    WD_SPAWN_STAGE_OOM_SCORE,
    WD_SPAWN_STAGE_NO_NEW_PRIVILEGES,
    WD_SPAWN_STAGE_GROUPS,
    WD_SPAWN_STAGE_GROUP,
    WD_SPAWN_STAGE_USER,
    WD_SPAWN_STAGE_DIRECTORY,
    WD_SPAWN_STAGE_EXECUTE,
};

enum wd_spawn_session {
    WD_SPAWN_SESSION_INHERIT = 0,
    WD_SPAWN_SESSION_NEW,
    WD_SPAWN_SESSION_NEW_GROUP,
};

struct wd_spawn_descriptor {
    int source; /* changed by the child while it moves descriptors out of each other's way */
    int target;
    bool done;
};

struct wd_spawn_limit {
    int resource;
    uint64_t soft;
    uint64_t hard;
};

/* Everything the child does, prepared. The child runs in the caller's memory: all pointers must stay valid until
 * wd_spawn() returns, and for ever if it returns with `abandoned` set. */
struct wd_spawn_request {
    const char *path;
    char *const *arguments;   /* ends with NULL */
    char *const *environment; /* ends with NULL */
    const char *directory;    /* NULL: the caller's */

    struct wd_spawn_descriptor *descriptors;
    size_t descriptor_count;
    const int *sorted_targets; /* the targets, ascending, without duplicates; descriptor_count of them */

    enum wd_spawn_session session;
    int terminal; /* becomes the terminal's foreground group with WD_SPAWN_SESSION_NEW_GROUP; -1: no */
    int cgroup;   /* descriptor of a cgroup2 directory, or -1 */

    const struct wd_spawn_limit *limits;
    size_t limit_count;

    bool has_niceness;
    int niceness;
    int file_mode_mask; /* -1: the caller's */
    /* Decimal digits for /proc/self/oom_score_adj, or NULL. */
    const char *oom_score_adjustment;
    bool no_new_privileges;

    bool has_credentials;
    uint32_t user;
    uint32_t group;
    const uint32_t *groups;
    size_t group_count;

    /* Each points at 11 writable bytes inside `environment`: the child writes its process id there, decimal, NUL. */
    char *const *pid_texts;
    size_t pid_text_count;

    /* How long the child may take until its execve has succeeded. */
    uint64_t limit_nanoseconds;
    /* Use clone(2) as if clone3(2) were refused, as seccomp filters of containers do. For tests. */
    bool without_clone3;
};

struct wd_spawn_result {
    pid_t pid;
    int pidfd;                 /* close-on-exec; -1 on failure */
    enum wd_spawn_stage stage; /* WD_SPAWN_STAGE_NONE: success */
    int error;                 /* errno of the failed stage; ETIMEDOUT: the stage did not end within the limit */
    size_t index;
    int cgroup_error; /* errno with which the cgroup was refused; the child then runs in the caller's cgroup */
    bool moved;       /* the child moved to the cgroup, because it could not be born there: slower by milliseconds */
    bool abandoned;   /* the child neither got on nor died; it still uses the request's memory */
};

/* Starts a program and waits until its execve has succeeded or something has failed.
 *
 * The child shares the caller's memory until execve and makes raw system calls only. All signals are blocked in the
 * calling thread meanwhile. A child that failed is reaped here. Any thread may call this. */
void wd_spawn(const struct wd_spawn_request *request, struct wd_spawn_result *result);
