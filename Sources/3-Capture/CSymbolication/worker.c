/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void wd_worker_seal(void)
{
    /* RLIMIT_CORE is not enough: the kernel ignores it if core_pattern is a pipe (core(5)). */
    prctl(PR_SET_DUMPABLE, 0);
}

static void lower(int resource, uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_cur > bytes)
        limit.rlim_cur = bytes;
    limit.rlim_max = limit.rlim_cur;
    setrlimit(resource, &limit);
}

pid_t wd_worker_fork(uint64_t address_space, uint64_t memory)
{
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGQUIT };
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The signal is not sent for a parent that exited before the prctl: prctl(2). */
    if (getppid() != parent)
        _exit(70);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], SIG_DFL);
    /* Since Linux 4.7, RLIMIT_DATA counts private writable mappings, not only the heap of brk(2): getrlimit(2). */
    lower(RLIMIT_AS, address_space);
    lower(RLIMIT_DATA, memory);
    return 0;
}
