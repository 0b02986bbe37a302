/* SPDX-License-Identifier: Apache-2.0
 *
 * usage: database serve | database query PORT
 *
 * A server that answers each byte with one, until SIGUSR1 makes it do something else forever; and a client that queries
 * it repeatedly, each time after a sign of life.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 256 };

static volatile sig_atomic_t is_vacuuming;

static void begin_vacuum(int signal) { is_vacuuming = signal; }

__attribute__((noinline)) static void vacuum(void) {
    for (;;) sleep(1000);
}

static int serve(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct pollfd entries[CONNECTIONS] = {{.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .events = POLLIN}};
    nfds_t count = 1;
    if (bind(entries[0].fd, (struct sockaddr *)&address, size) != 0 || listen(entries[0].fd, CONNECTIONS) != 0 ||
        getsockname(entries[0].fd, (struct sockaddr *)&address, &size) != 0)
        return 1;
    signal(SIGUSR1, begin_vacuum);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (!is_vacuuming) {
        if (poll(entries, count, 100) <= 0) continue;
        if (entries[0].revents != 0 && count < CONNECTIONS) {
            entries[count].fd = accept(entries[0].fd, NULL, NULL);
            entries[count].events = POLLIN;
            entries[count].revents = 0;
            if (entries[count].fd >= 0) count++;
        }
        for (nfds_t index = 1; index < count; index++) {
            char byte;
            if (entries[index].revents == 0) continue;
            if (read(entries[index].fd, &byte, 1) == 1 && write(entries[index].fd, &byte, 1) == 1) continue;
            close(entries[index].fd);
            entries[index] = entries[--count];
        }
    }
    vacuum();
    return 0;
}

static void tell(const char *message) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || strlen(path) >= sizeof address.sun_path) return;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@') address.sun_path[0] = '\0';
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (sendto(descriptor, message, strlen(message), 0, (struct sockaddr *)&address, size) < 0) exit(2);
    close(descriptor);
}

__attribute__((noinline)) static int fetch_row(int connection) {
    char byte = '?';
    if (write(connection, &byte, 1) != 1 || read(connection, &byte, 1) != 1) exit(3);
    return byte;
}

static int query(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timespec pause = {.tv_nsec = 50000000};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0) return 1;
    tell("READY=1");
    for (;;) {
        tell("WATCHDOG=1");
        fetch_row(connection);
        nanosleep(&pause, NULL);
    }
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "serve") == 0) return serve();
    if (count == 3 && strcmp(arguments[1], "query") == 0) return query(atoi(arguments[2]));
    return 64;
}
