/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls without libc: no errno, no cancellation, no locks. Results are the kernel's: -errno on failure.
 */
#pragma once
#include <sys/syscall.h>

/* A sanitizer's calls would be made in the child, too. */
#if defined(__clang__)
#define WD_RAW static inline __attribute__((always_inline, disable_sanitizer_instrumentation))
#else
#define WD_RAW static inline __attribute__((always_inline))
#endif

#if defined(__x86_64__)

WD_RAW long wd_raw_syscall5(long number, long a, long b, long c, long d, long e) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

/* clone(2) or clone3(2) onto a new stack; the child calls entry(argument), which must not return.
 * The kernel keeps every register but rax, rcx and r11. */
WD_RAW long wd_raw_clone(long number, long a, long b, long c, long d, long e, void (*entry)(void *),
                                void *argument) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register void (*r9)(void *) __asm__("r9") = entry;
    register void *r12 __asm__("r12") = argument;
    long result;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "movq %%r12, %%rdi\n\t"
                     "callq *%%r9\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9), "r"(r12)
                     : "rcx", "r11", "memory");
    return result;
}

#define WD_RAW_CLONE_TLS_BEFORE_CHILD_TID 0

#elif defined(__aarch64__)

WD_RAW long wd_raw_syscall5(long number, long a, long b, long c, long d, long e) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}

WD_RAW long wd_raw_clone(long number, long a, long b, long c, long d, long e, void (*entry)(void *),
                                void *argument) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register void (*x9)(void *) __asm__("x9") = entry;
    register void *x10 __asm__("x10") = argument;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x10\n\t"
                     "blr x9\n\t"
                     "brk #1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), "r"(x10)
                     : "memory");
    return x0;
}

#define WD_RAW_CLONE_TLS_BEFORE_CHILD_TID 1

#else
#error "wd_raw_syscall.h knows x86-64 and arm64"
#endif
