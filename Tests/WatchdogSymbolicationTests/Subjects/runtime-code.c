/* SPDX-License-Identifier: Apache-2.0
 *
 * A main thread in pause(), called by a function that was generated in memory at run time.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void called_back(void)
{
    if (write(STDOUT_FILENO, "ready\n", 6) == 6)
        pause();
    sink++;
}

__attribute__((noinline)) static int calls_made_code(void (*made)(void (*)(void)))
{
    made(called_back);
    return sink + 1;
}

int main(void)
{
    /* push rbp; mov rbp, rsp; sub rsp, 0x20; call rdi; leave; ret */
    static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3 };
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    memcpy(page, code, sizeof code);
    if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
        return 1;
    return calls_made_code((void (*)(void (*)(void)))page) + 1;
}
