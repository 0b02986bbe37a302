/* SPDX-License-Identifier: Apache-2.0
 *
 * The segments of what is loaded, which only dl_iterate_phdr(3) tells.
 */
#pragma once

/* Gives back the pages of all code and constants that are loaded: each comes back from the page cache when it is used
 * again. Breakpoints that a debugger has set are given back with it. */
void wd_release_program(void);
