/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__x86_64__)

/* Returns 0, ESRCH if the thread is not stopped, or ENOTSUP if it is 32-bit: its register set is shorter, ptrace(2). */
int wd_read_registers(struct wd_slot *slot) {
    struct user_regs_struct from;
    struct iovec vector = {&from, sizeof from};
    if (ptrace(PTRACE_GETREGSET, slot->thread.tid, (void *)(uintptr_t)NT_PRSTATUS, &vector) != 0) return errno;
    if (vector.iov_len != sizeof from) return ENOTSUP;
    uint64_t *to = slot->thread.registers;
    to[WD_RAX] = from.rax;
    to[WD_RDX] = from.rdx;
    to[WD_RCX] = from.rcx;
    to[WD_RBX] = from.rbx;
    to[WD_RSI] = from.rsi;
    to[WD_RDI] = from.rdi;
    to[WD_RBP] = from.rbp;
    to[WD_RSP] = from.rsp;
    to[WD_R8] = from.r8;
    to[WD_R9] = from.r9;
    to[WD_R10] = from.r10;
    to[WD_R11] = from.r11;
    to[WD_R12] = from.r12;
    to[WD_R13] = from.r13;
    to[WD_R14] = from.r14;
    to[WD_R15] = from.r15;
    to[WD_RIP] = from.rip;
    to[WD_RFLAGS] = from.eflags;
    to[WD_ORIG_RAX] = from.orig_rax;
    to[WD_CS] = from.cs;
    to[WD_SS] = from.ss;
    to[WD_FS_BASE] = from.fs_base;
    to[WD_GS_BASE] = from.gs_base;
    slot->thread.register_source = WD_REGISTERS_PTRACE;
    return 0;
}

#else
#error "Only x86-64 is supported: the snapshot format numbers its registers."
#endif
