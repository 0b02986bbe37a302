/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's side of recording a launch: a child held before its execve(2), perf events and their ring buffers,
 * and ptrace(2) stops. Every function returns -1 with errno on failure unless its contract says otherwise. Nothing
 * here keeps state.
 */
#pragma once
#include "wd_record_child.h"
#include "wd_record_event.h"
#include "wd_record_ring.h"
#include "wd_record_trace.h"
