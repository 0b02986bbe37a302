/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: mute SERVER CONNECTIONS
 *
 * A server that accepts so many connections to the Unix socket SERVER, and then sleeps without an answer to any of them.
 */
#include "record.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct record record = {.pid = getpid(), .kind = RECORD_SETTLED};
    if (argc != 3 || strlen(argv[1]) >= sizeof address.sun_path) return 64;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    strcpy(address.sun_path, argv[1]);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(argv[1]) + 1);
    unlink(argv[1]);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 128) != 0) return 1;
    if (write(STDOUT_FILENO, &record, sizeof record) != sizeof record) return 1;
    for (int left = atoi(argv[2]); left > 0; left--)
        if (accept(listener, NULL, NULL) < 0) return 1;
    for (;;) sleep(1000);
}
