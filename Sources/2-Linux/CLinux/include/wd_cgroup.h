/* SPDX-License-Identifier: Apache-2.0
 *
 * Extended attributes of cgroups.
 */
#pragma once
#include <stdbool.h>

/* Whether systemd has delegated a cgroup to its service: the attribute trusted.delegate or user.delegate is "1". */
bool wd_cgroup_is_delegated(const char *path);
