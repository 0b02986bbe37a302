/* SPDX-License-Identifier: Apache-2.0
 *
 * What the processes have in common from which others are forked, wd_closer.h and wd_examiner.h. Only for their C files; no
 * part of the module.
 */
#pragma once
#include <sys/types.h>

enum { WD_SOURCE_LINK = 3 };

/* How long to wait for children that end now unless the kernel does not let them, in milliseconds: watchdogd waits longer for
 * the source, so that what it leaves is only what cannot end. */
enum { WD_SOURCE_PATIENCE = 500 };

/* In a child that becomes a source: it gets a session and process group of its own, no descriptors but `link`, as
 * WD_SOURCE_LINK, and /dev/null as its standard streams, no blocked signals, and default dispositions, except that it
 * ignores SIGTERM, SIGINT and SIGHUP. It also ignores SIGCHLD, so that its children leave no zombies: sigaction(2). */
void wd_become_source(int link);

/* Makes the kernel kill this process when its parent ends; ends it if that has happened already. */
void wd_die_with(pid_t parent);

/* Ends this process once all its children have ended, but `milliseconds` later at the latest. Its parent, which waits for it,
 * then knows that none of them is left for whoever reaps orphans. */
_Noreturn void wd_end_after_children(unsigned milliseconds);
