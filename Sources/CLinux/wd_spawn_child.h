/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "wd_spawn.h"

/* What parent and child share besides the request. */
struct wd_spawn_launch {
    const struct wd_spawn_request *request;
    /* The child was not born in the request's cgroup and is to move there. */
    bool moves;
    /* Written once: why it could not move; it goes on where it is. */
    volatile int cgroup_error;
    /* Non-zero until the kernel clears it, when the child's execve succeeds or the child ends: clone(2),
     * CLONE_CHILD_CLEARTID. */
    uint32_t busy;
    /* The stage under way; the parent reads it when the child takes too long. */
    volatile enum wd_spawn_stage stage;
    /* Written once, by a child that has failed, before it ends. */
    volatile int error;
    volatile size_t index;
};

/* The child's life until execve; never returns. Runs in the parent's memory and descriptor table. */
void wd_spawn_child(void *launch);
