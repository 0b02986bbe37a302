/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: work UNITS
 *
 * Does a fixed amount of work that depends on nothing but its argument, over a buffer that the caches do not hold, and exits. For
 * Benchmarks/alarms.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 1 << 18 };

static uint64_t words[WORDS];

int main(int count, char **arguments) {
    long units = count == 2 ? strtol(arguments[1], NULL, 10) : 0;
    if (units < 1) {
        fprintf(stderr, "usage: work UNITS\n");
        return 64;
    }
    uint64_t state = 88172645463325252;
    for (long unit = 0; unit < units; unit++) {
        for (int step = 0; step < 1000; step++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            words[state % WORDS] += state;
        }
    }
    return words[0] == 1 ? 1 : 0;
}
