/* SPDX-License-Identifier: Apache-2.0
 *
 * What Swift cannot use on Linux: system calls without a glibc wrapper or outside Swift's Glibc module, macros, and
 * structures of GNU extensions. No header of this module needs or defines _GNU_SOURCE: a public header that does so
 * clashes with the Glibc module (fd_set differs).
 */
#pragma once
#include "wd_accepted.h"
#include "wd_cgroup.h"
#include "wd_closer.h"
#include "wd_copier.h"
#include "wd_errno.h"
#include "wd_descriptor.h"
#include "wd_precise_poll.h"
#include "wd_process.h"
#include "wd_examiner.h"
#include "wd_internet_socket.h"
#include "wd_journal.h"
#include "wd_launcher.h"
#include "wd_limits.h"
#include "wd_link.h"
#include "wd_listening.h"
#include "wd_memory.h"
#include "wd_needed_calls.h"
#include "wd_network.h"
#include "wd_page_cache.h"
#include "wd_path_call.h"
#include "wd_readiness.h"
#include "wd_regular_file.h"
#include "wd_scheduling.h"
#include "wd_signal.h"
#include "wd_sock_diag.h"
#include "wd_socket.h"
#include "wd_spawn.h"
#include "wd_disk.h"
#include "wd_spinner.h"
#include "wd_stream_socket.h"
#include "wd_thread.h"
#include "wd_waiting.h"
