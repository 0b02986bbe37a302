/* SPDX-License-Identifier: Apache-2.0 */
#include "photostamp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int phone_home(int connection)
{
    static const char request[] = "GET /license HTTP/1.1\r\nHost: license\r\nConnection: close\r\n\r\n";
    char answer[512];
    ssize_t count;

    if (send(connection, request, sizeof request - 1, MSG_NOSIGNAL) < 0)
        return errno;
    while ((count = recv(connection, answer, sizeof answer, 0)) != 0) {
        if (count < 0 && errno != EINTR)
            return errno;
    }
    return 0;
}

int photostamp_initialize(uint16_t port)
{
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error;

    if (connection < 0)
        return errno;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    error = connect(connection, (struct sockaddr *)&server, sizeof server) == 0 ? phone_home(connection) : errno;
    close(connection);
    return error;
}
