/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The symbolic name of an error number ("ENOENT"), or NULL if it has none. Static storage. */
const char *wd_errno_name(int error);

/* The description of an error number, never localized, or NULL if it has none. Static storage. */
const char *wd_errno_text(int error);
