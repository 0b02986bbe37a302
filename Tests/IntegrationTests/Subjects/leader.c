/* SPDX-License-Identifier: Apache-2.0
 *
 * The main thread exits, and another one keeps the process alive.
 */
#include <pthread.h>
#include <unistd.h>

static void *stay(void *argument) {
    for (;;) {
        pause();
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, stay, NULL);
    pthread_exit(NULL);
}
