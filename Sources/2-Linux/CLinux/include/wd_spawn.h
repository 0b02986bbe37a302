/* SPDX-License-Identifier: Apache-2.0
 *
 * One launch, as described by the supervisor and performed by the child.
 *
 * The description is a file in memory: one `struct wd_launch`, followed by what it points to. The child maps the file,
 * turns offsets into pointers, performs the request, and stores the outcome in the same file. It shares no memory with
 * the supervisor.
 *
 * Where RLIMIT_FSIZE keeps the supervisor from writing that file, the description comes through a pipe, and the child
 * sends its outcome through the status socket: when it begins, when it has moved to a cgroup, and when a step fails.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The steps of a launch, in the order in which the child performs them. */
enum wd_spawn_stage {
    WD_SPAWN_STAGE_NONE = 0,
    WD_SPAWN_STAGE_CLONE,
    WD_SPAWN_STAGE_CGROUP,
    WD_SPAWN_STAGE_SESSION,
    WD_SPAWN_STAGE_FOREGROUND,
    WD_SPAWN_STAGE_DESCRIPTOR, /* index: which of the passed descriptors */
    WD_SPAWN_STAGE_CLOSE,
    WD_SPAWN_STAGE_LIMIT, /* index: which of the limits */
    WD_SPAWN_STAGE_SCHEDULING,
    WD_SPAWN_STAGE_NICENESS,
    WD_SPAWN_STAGE_OOM_SCORE,
    WD_SPAWN_STAGE_NO_NEW_PRIVILEGES,
    WD_SPAWN_STAGE_GROUPS,
    WD_SPAWN_STAGE_GROUP,
    WD_SPAWN_STAGE_USER,
    WD_SPAWN_STAGE_CAPABILITIES,
    WD_SPAWN_STAGE_DIRECTORY,
    WD_SPAWN_STAGE_EXECUTE, /* index: 1 for /bin/sh, which runs a script without an interpreter line */
};

enum wd_spawn_session {
    WD_SPAWN_SESSION_INHERIT = 0,
    WD_SPAWN_SESSION_NEW,
    WD_SPAWN_SESSION_NEW_GROUP,
};

struct wd_spawn_descriptor {
    int source; /* index of a passed descriptor; the child replaces it with the number */
    int target;
    bool closes_on_exec;
    bool done;
};

struct wd_spawn_limit {
    int resource;
    uint64_t soft;
    uint64_t hard;
};

enum { WD_SPAWN_HEAD_BYTES = 256 };

/* Written by the child; read by the supervisor when the child's status socket is at end of file or the time is up. Larger
 * than a struct wd_launcher_answer, which goes through the same socket. */
struct wd_spawn_outcome {
    enum wd_spawn_stage stage; /* the current step */
    int error;                 /* errno of the step that failed; 0: none */
    uint32_t index;
    int cgroup_error; /* errno with which joining the cgroup failed; the child then runs in the launcher's cgroup */
    bool moved;       /* moved to the cgroup because it could not be created there: slower by milliseconds */
    /* The beginning of the file that the kernel refused to execute, if the program's user may read it; length -1:
     * unreadable. */
    int head_length;
    uint8_t head[WD_SPAWN_HEAD_BYTES];
};

/* All pointers are offsets from the start of the file, listed in `relocations`. */
struct wd_launch {
    struct wd_spawn_outcome outcome;

    bool in_pipe; /* set by the child */

    const uint64_t *relocations; /* offsets of 64-bit offsets that become pointers; does not include itself */
    uint64_t relocation_count;

    const char *path;
    char **arguments;   /* ends with NULL; preceded by one unused entry */
    char **environment; /* ends with NULL */
    const char *directory;

    struct wd_spawn_descriptor *descriptors;
    uint64_t descriptor_count;
    const int *sorted_targets; /* the targets, ascending, without duplicates; descriptor_count of them */

    enum wd_spawn_session session;
    /* Index of the passed descriptor of the terminal whose foreground group this process becomes with
     * WD_SPAWN_SESSION_NEW_GROUP; -1: none. */
    int terminal;
    /* Index of the passed descriptor of a cgroup2 directory; -1: none. */
    int cgroup;

    const struct wd_spawn_limit *limits;
    uint64_t limit_count;

    bool has_niceness;
    int niceness;
    int file_mode_mask; /* -1: the launcher's */
    /* Decimal digits for /proc/self/oom_score_adj, or NULL. */
    const char *oom_score_adjustment;
    bool no_new_privileges;
    bool drops_capabilities;

    bool has_credentials;
    uint32_t user;
    uint32_t group;
    const uint32_t *groups;
    uint64_t group_count;

    /* Each points to 11 writable bytes inside `environment`: the child writes its process ID there, in decimal, with a
     * NUL. */
    char **pid_texts;
    uint64_t pid_text_count;
};
