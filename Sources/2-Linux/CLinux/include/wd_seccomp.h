/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary of a seccomp(2) filter that allows some calls and refuses all others. Only for the C files of filters, of
 * this target and of others; no part of the module (module.modulemap), because the names are short.
 *
 * A filter begins with CHECK_ARCHITECTURE and ends with REFUSE.
 */
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the architecture has no name for seccomp here"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Allows a call that passes or fails a test of the lower half of an argument, and refuses it otherwise: an offset of 0
 * allows, 1 refuses. */
#define ALLOW_IF(call, index, test, value, passed, failed)                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), LOAD(args[index]),                                          \
        BPF_JUMP(BPF_JMP | (test) | BPF_K, value, passed, failed), RETURN(SECCOMP_RET_ALLOW), REFUSE
#define ALLOW_VALUE(call, index, value) ALLOW_IF(call, index, BPF_JEQ, value, 0, 1)
#define ALLOW_UP_TO(call, index, value) ALLOW_IF(call, index, BPF_JGT, value, 1, 0)
#define ALLOW_WITHOUT(call, index, bits) ALLOW_IF(call, index, BPF_JSET, bits, 1, 0)

/* Kills a process that calls with the numbers of another architecture; then loads the number of the call. */
#define CHECK_ARCHITECTURE                                                                                             \
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(nr)
