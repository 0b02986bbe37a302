/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes down the time of its first instructions, and exits.
 */
#include "first.h"

__attribute__((noreturn, used)) static void begin(void) {
    record_entry();
    for (;;) call(SYS_exit_group, 0, 0, 0);
}

__attribute__((naked, noreturn)) void _start(void) {
    __asm__("xor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin");
}
