// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "zoo.h"

KIND(plain_sleep) { sleep(1000); }
KIND(pause_for_signal) { pause(); }
KIND(signal_wait) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigwait(&set, &signal);
}
KIND(signal_suspend) {
    sigset_t set;
    sigemptyset(&set);
    sigsuspend(&set);
}
KIND(poll_descriptor) {
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    poll(&entry, 1, -1);
}
KIND(epoll_descriptor) {
    struct epoll_event event = {.events = EPOLLIN};
    int ends[2], instance = epoll_create1(0);
    if (pipe(ends) != 0) fail("pipe");
    epoll_ctl(instance, EPOLL_CTL_ADD, ends[0], &event);
    epoll_wait(instance, &event, 1, -1);
}
KIND(select_descriptor) {
    int ends[2];
    fd_set set;
    if (pipe(ends) != 0) fail("pipe");
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    select(ends[0] + 1, &set, NULL, NULL, NULL);
}
KIND(eventfd_read) {
    eventfd_t value;
    eventfd_read(eventfd(0, 0), &value);
}
KIND(timerfd_read) {
    char bytes[8];
    if (read(timerfd_create(CLOCK_MONOTONIC, 0), bytes, 8) < 0) fail("read");
}
KIND(inotify_read) {
    char bytes[256];
    if (read(inotify_init(), bytes, sizeof bytes) < 0) fail("read");
}
// A child outlives its parent until it has removed their shared objects.
static void wait_for_usr1(void) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    alarm(30);
    sigwait(&set, &signal);
}
KIND(message_queue) {
    struct {
        long type;
        char text[8];
    } message;
    int queue = msgget(IPC_PRIVATE, 0600);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGUSR1);
        wait_for_usr1();
        msgctl(queue, IPC_RMID, NULL);
        _exit(0);
    }
    msgrcv(queue, &message, sizeof message.text, 0, 0);
}

KIND(poll_two) {
    int one[2], two[2];
    if (pipe(one) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, two) != 0) fail("pipe");
    struct pollfd entries[] = {{.fd = one[0], .events = POLLIN}, {.fd = two[0], .events = POLLIN}};
    poll(entries, 2, -1);
}
KIND(poll_with_signals) {
    int ends[2];
    struct timespec hour = {3600, 0};
    if (pipe(ends) != 0) fail("pipe");
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    ppoll(&entry, 1, &hour, NULL);
}
KIND(poll_connection) {
    int ends[2];
    connected(ends);
    struct pollfd entry = {.fd = ends[0], .events = POLLIN};
    poll(&entry, 1, -1);
}
KIND(poll_writable) {
    int ends[2];
    char block[4096] = {0};
    if (pipe2(ends, O_NONBLOCK) != 0) fail("pipe");
    while (write(ends[1], block, sizeof block) > 0) continue;
    struct pollfd entry = {.fd = ends[1], .events = POLLOUT};
    poll(&entry, 1, -1);
}
KIND(poll_nothing) { poll(NULL, 0, 3600 * 1000); }
static void add(int instance, int file) {
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(instance, EPOLL_CTL_ADD, file, &event) != 0) fail("epoll_ctl");
}
KIND(epoll_timer) {
    struct epoll_event event;
    int instance = epoll_create1(0);
    add(instance, timerfd_create(CLOCK_MONOTONIC, 0));
    epoll_wait(instance, &event, 1, -1);
}
KIND(epoll_two) {
    struct epoll_event event;
    int ends[2], instance = epoll_create1(0);
    connected(ends);
    add(instance, ends[0]);
    add(instance, eventfd(0, 0));
    epoll_pwait(instance, &event, 1, -1, NULL);
}
KIND(select_two) {
    int one[2], two[2];
    fd_set set;
    if (pipe(one) != 0 || pipe(two) != 0) fail("pipe");
    FD_ZERO(&set);
    FD_SET(one[0], &set);
    FD_SET(two[0], &set);
    select(64, &set, NULL, NULL, NULL);
}
KIND(signalfd_read) {
    sigset_t set;
    char bytes[128];
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (read(signalfd(-1, &set, 0), bytes, sizeof bytes) < 0) fail("read");
}
KIND(process_descriptor) {
    pid_t other = child(child_is_ready);
    struct pollfd entry = {.fd = (int)syscall(SYS_pidfd_open, other, 0), .events = POLLIN};
    poll(&entry, 1, -1);
}
KIND(absolute_sleep) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 3600;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}
KIND(microseconds_sleep) {
    for (;;) usleep(900000000);
}
KIND(signal_wait_timed) {
    sigset_t set;
    struct timespec hour = {3600, 0};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigtimedwait(&set, NULL, &hour);
}

// System V and POSIX objects, none of which remain on the machine.
// Objects outlive their processes: the test removes those that this file names.
static int left_behind(char kind, int id) {
    FILE *file = fopen("ipc", "a");
    if (id < 0 || file == NULL) fail("no System V object");
    fprintf(file, "%c %d\n", kind, id);
    fclose(file);
    return id;
}
static int set;
static void take_semaphore(void) {
    struct sembuf take = {.sem_num = 1, .sem_op = -1};
    if (semop(set, &take, 1) != 0) fail("semop");
}
static void make_semaphores(void) {
    set = left_behind('s', semget(IPC_PRIVATE, 2, 0600));
    struct sembuf give = {.sem_num = 1, .sem_op = 1};
    semop(set, &give, 1);
}
static void hold_semaphore(void) {
    take_semaphore();
    child_is_ready();
}
KIND(system_v_semaphore) {
    make_semaphores();
    child(hold_semaphore);
    take_semaphore();
}
KIND(system_v_semaphore_of_stopped) {
    make_semaphores();
    pid_t holder = child(hold_semaphore);
    kill(holder, SIGSTOP);
    waitpid(holder, NULL, WUNTRACED);
    take_semaphore();
}
KIND(system_v_semaphore_of_dead) {
    make_semaphores();
    pid_t holder = child(hold_semaphore);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    take_semaphore();
}
KIND(system_v_semaphore_of_its_own) {
    make_semaphores();
    take_semaphore();
    take_semaphore();
}
KIND(system_v_semaphore_zero) {
    struct sembuf zero = {.sem_num = 1, .sem_op = 0};
    make_semaphores();
    semop(set, &zero, 1);
}
static int messages;
static void send_message(void) {
    struct { long type; char text[8]; } message = {.type = 1};
    if (msgsnd(messages, &message, sizeof message.text, 0) != 0) fail("msgsnd");
}
static void send_and_wait(void) {
    send_message();
    child_is_ready();
}
KIND(system_v_queue_of_stopped) {
    struct { long type; char text[8]; } message;
    messages = left_behind('q', msgget(IPC_PRIVATE, 0600));
    pid_t sender = child(send_and_wait);
    msgrcv(messages, &message, sizeof message.text, 0, 0);
    kill(sender, SIGSTOP);
    waitpid(sender, NULL, WUNTRACED);
    msgrcv(messages, &message, sizeof message.text, 0, 0);
}
KIND(system_v_queue_full) {
    struct msqid_ds state;
    messages = left_behind('q', msgget(IPC_PRIVATE, 0600));
    msgctl(messages, IPC_STAT, &state);
    state.msg_qbytes = 16;
    msgctl(messages, IPC_SET, &state);
    for (;;) send_message();
}
static mqd_t open_queue(void) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/zoo-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (queue == (mqd_t)-1) fail("mq_open");
    mq_unlink(name);
    return queue;
}
KIND(poll_message_queue) {
    struct pollfd entry = {.fd = open_queue(), .events = POLLIN};
    poll(&entry, 1, -1);
}
KIND(epoll_message_queue) {
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, open_queue(), &event) != 0) fail("epoll_ctl");
    epoll_wait(epoll, &event, 1, -1);
}
KIND(posix_message_queue) {
    char name[64], bytes[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof bytes};
    snprintf(name, sizeof name, "/zoo-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (queue == (mqd_t)-1) fail("mq_open");
    mq_unlink(name);
    if (mq_receive(queue, bytes, sizeof bytes, NULL) < 0) fail("mq_receive");
}
KIND(full_message_queue) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/zoo-%d", getpid());
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    if (queue == (mqd_t)-1) fail("mq_open");
    mq_unlink(name);
    for (;;)
        if (mq_send(queue, "!", 1, 0) != 0) fail("mq_send");
}
