/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wd_close_range.h"
#include "wd_examiner.h"

static void close_others(int link) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (link != WD_SOURCE_LINK) dup2(link, WD_SOURCE_LINK);
    for (int stream = 0; stream < 3 && null >= 0; stream++) dup2(null, stream);
    wd_close_range(WD_SOURCE_LINK + 1, ~0U);
}

void wd_become_source(int link) {
    setsid();
    close_others(link);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    for (int index = 0; index < 4; index++) signal((int[]){SIGTERM, SIGINT, SIGHUP, SIGCHLD}[index], SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void wd_die_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(70);
}

void wd_end_after_children(unsigned milliseconds) {
    wd_die_after(milliseconds);
    /* If SIGCHLD is ignored, this waits until all have ended: wait(2). */
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
    }
    _exit(0);
}
