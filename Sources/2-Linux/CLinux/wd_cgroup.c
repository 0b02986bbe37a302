/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_cgroup.h"

#include <sys/xattr.h>

bool wd_cgroup_is_delegated(const char *path) {
    char value = 0;
    return (getxattr(path, "trusted.delegate", &value, 1) == 1 && value == '1') ||
           (getxattr(path, "user.delegate", &value, 1) == 1 && value == '1');
}
