/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Binds the calling thread to the last CPU that the process may use, which stands for the efficiency core of a phone.
 * Returns 0, or an errno value; the thread then stays where it is.
 */
int sample_thread_confine(void);

/* Gives the calling thread a nice value, as setpriority(2) does on Linux for who = 0. Returns 0 or an errno value. */
int sample_thread_set_nice(int nice);
