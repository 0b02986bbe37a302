/* SPDX-License-Identifier: Apache-2.0
 *
 * Wants a CPU forever.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(300);
    for (;;) __asm__ volatile("");
}
