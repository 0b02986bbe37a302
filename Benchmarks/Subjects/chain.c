/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: chain
 *
 * Calls without frame pointers, the innermost of which waits forever.
 */
#include <unistd.h>

#include "record.h"

static volatile int total;

#define LEVEL(name, callee)                             \
    __attribute__((noinline)) static int name(int value) { \
        int result = callee(value + 1) + total;         \
        total += result;                                \
        return result * 3;                              \
    }

__attribute__((noinline)) static int innermost(int value) {
    total += value;
    while (total >= 0) pause();
    return total;
}

LEVEL(third, innermost)
LEVEL(second, third)
LEVEL(outermost, second)

int main(void) {
    alarm(120);
    struct record settled = {.pid = getpid(), .kind = RECORD_SETTLED};
    if (write(STDOUT_FILENO, &settled, sizeof settled) != sizeof settled) return 1;
    return outermost(1);
}
