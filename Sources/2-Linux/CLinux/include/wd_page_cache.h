/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a file is in memory, and evicting it.
 */
#pragma once
#include <stdint.h>

/* Writes the file's changes to the disk, then evicts its pages: posix_fadvise(2), which needs no right but to read the file.
 * Pages that a process maps stay. May wait for the disk. 0, or -1 with errno. */
int wd_page_cache_evict(int file);

/* The bytes of the file that are in memory, by mincore(2); -1 with errno. EPERM if the kernel would answer "all" to hide the
 * truth, which it does unless the caller owns the file or may write to it: mm/mincore.c, can_do_mincore(). */
int64_t wd_page_cache_resident(int file, int64_t size);
