/* SPDX-License-Identifier: Apache-2.0
 *
 * A 32-bit program without a C library, which few machines have: it sleeps in pause(2), number 29 of i386.
 * Build: cc -m32 -nostdlib -static -no-pie -fno-pic
 */
static long call(long number) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number) : "memory");
    return result;
}

void _start(void) {
    for (;;) call(29);
}
