/* SPDX-License-Identifier: Apache-2.0
 *
 * A main thread that waits for a mutex, below an inlined call and a recursion; another thread holds the mutex.
 */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];

static inline __attribute__((always_inline)) void take(void)
{
    pthread_mutex_lock(&lock);
}

__attribute__((noinline)) static int block_for_ever(int depth)
{
    if (depth > 0)
        return block_for_ever(depth - 1) + 1;
    take();
    return 7;
}

__attribute__((noinline)) static void *keep_lock(void *argument)
{
    pthread_mutex_lock(&lock);
    if (write(ends[1], "", 1) == 1)
        for (;;)
            pause();
    return argument;
}

int main(void)
{
    pthread_t thread;
    char byte;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, keep_lock, NULL) != 0 || read(ends[0], &byte, 1) != 1)
        return 1;
    return block_for_ever(3) + 1;
}
