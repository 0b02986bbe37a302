/* SPDX-License-Identifier: Apache-2.0
 *
 * The segments of loaded objects, which only dl_iterate_phdr(3) reveals, and the heap.
 */
#pragma once

/* Releases the pages of all loaded code and constants: each comes back from the page cache when it is next used.
 * Breakpoints set by a debugger are lost. */
void wd_release_program(void);

/* Gives free pages of all heaps back to the kernel: malloc_trim(3). Takes a millisecond for some 5 MiB that it gives back. */
void wd_release_heap(void);
