/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_errno.h"

#include <string.h>

const char *wd_errno_name(int error) { return strerrorname_np(error); }

const char *wd_errno_text(int error) { return strerrordesc_np(error); }
