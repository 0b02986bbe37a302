/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits forever for a child that never executes anything: vfork(2) suspends the parent uninterruptibly.
 */
#define _DEFAULT_SOURCE
#include <unistd.h>

int main(void) {
    if (vfork() == 0) {
        for (;;) {
            pause();
        }
    }
    return 0;
}
