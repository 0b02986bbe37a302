// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "zoo.h"

KIND(pipe_read) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) fail("pipe");
    if (read(ends[0], &byte, 1) < 0) fail("read");
}
KIND(pipe_write) {
    static char block[1 << 20];
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    if (write(ends[1], block, sizeof block) < 0) fail("write");
}
static int open_scratch(void) {
    int file = open("zoo.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail("open");
    return file;
}
static void wait_for_child_to_lock(int exclusive_file) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) fail("pipe");
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int file = open_scratch();
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if ((exclusive_file ? flock(file, LOCK_EX) : fcntl(file, F_SETLKW, &lock)) != 0) fail("lock");
        if (write(ends[1], "!", 1) != 1) fail("write");
        sleep_for_ever(NULL);
    }
    if (read(ends[0], &byte, 1) != 1) fail("read");
}
KIND(file_lock) {
    wait_for_child_to_lock(1);
    flock(open_scratch(), LOCK_EX);
}
KIND(record_lock) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    wait_for_child_to_lock(0);
    fcntl(open_scratch(), F_SETLKW, &lock);
}
KIND(fifo_open) {
    if (mkfifo("zoo.fifo", 0600) != 0 && errno != EEXIST) fail("mkfifo");
    open("zoo.fifo", O_RDONLY);
}

// The process at the other end of a pipe.
static int pipe_to_child[2];
static void keep_writing_end(void) {
    close(pipe_to_child[0]);
    child_is_ready();
}
KIND(pipe_of_child) {
    char byte;
    if (pipe(pipe_to_child) != 0) fail("pipe");
    child(keep_writing_end);
    close(pipe_to_child[1]);
    if (read(pipe_to_child[0], &byte, 1) < 0) fail("read");
}
KIND(pipe_of_stopped_child) {
    char byte;
    if (pipe(pipe_to_child) != 0) fail("pipe");
    pid_t writer = child(keep_writing_end);
    close(pipe_to_child[1]);
    kill(writer, SIGSTOP);
    if (read(pipe_to_child[0], &byte, 1) < 0) fail("read");
}
KIND(pipe_vector_read) {
    int ends[2];
    char byte;
    struct iovec vector = {&byte, 1};
    if (pipe(ends) != 0) fail("pipe");
    if (readv(ends[0], &vector, 1) < 0) fail("readv");
}
KIND(pipe_vector_write) {
    static char block[1 << 20];
    int ends[2];
    struct iovec vector = {block, sizeof block};
    if (pipe(ends) != 0) fail("pipe");
    if (writev(ends[1], &vector, 1) < 0) fail("writev");
}
KIND(pipe_splice) {
    int from[2], to[2];
    if (pipe(from) != 0 || pipe(to) != 0) fail("pipe");
    if (splice(from[0], NULL, to[1], NULL, 1, 0) < 0) fail("splice");
}
KIND(pipe_tee) {
    int from[2], to[2];
    if (pipe(from) != 0 || pipe(to) != 0) fail("pipe");
    if (tee(from[0], to[1], 1, 0) < 0) fail("tee");
}
KIND(fifo_read) {
    char byte;
    if (mkfifo("zoo.fifo", 0600) != 0 && errno != EEXIST) fail("mkfifo");
    int file = open("zoo.fifo", O_RDWR);
    if (read(file, &byte, 1) < 0) fail("read");
}
KIND(fifo_open_write) {
    if (mkfifo("zoo.fifo", 0600) != 0 && errno != EEXIST) fail("mkfifo");
    open("zoo.fifo", O_WRONLY);
}
KIND(terminal_read) {
    char byte;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) fail("posix_openpt");
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (terminal < 0) fail("open");
    if (read(terminal, &byte, 1) < 0) fail("read");
}
KIND(terminal_write) {
    static char block[1 << 20];
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) fail("posix_openpt");
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (terminal < 0) fail("open");
    if (write(terminal, block, sizeof block) < 0) fail("write");
}

// Locks of files.
KIND(open_file_lock) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int mine = open_scratch(), other = open_scratch();
    if (fcntl(other, F_OFD_SETLKW, &lock) != 0) fail("fcntl");
    fcntl(mine, F_OFD_SETLKW, &lock);
}
KIND(file_lock_of_its_own) {
    int mine = open_scratch(), other = open_scratch();
    if (flock(other, LOCK_EX) != 0) fail("flock");
    flock(mine, LOCK_EX);
}
KIND(lockf_lock) {
    wait_for_child_to_lock(0);
    if (lockf(open_scratch(), F_LOCK, 0) != 0) fail("lockf");
}
static void lock_shared(void) {
    if (flock(open_scratch(), LOCK_SH) != 0) fail("flock");
    child_is_ready();
}
KIND(file_lock_of_reader) {
    child(lock_shared);
    flock(open_scratch(), LOCK_EX);
}
static void lock_and_stop(void) {
    if (flock(open_scratch(), LOCK_EX) != 0) fail("flock");
    child_is_ready();
    raise(SIGSTOP);
}
KIND(file_lock_of_stopped) {
    child(lock_and_stop);
    flock(open_scratch(), LOCK_EX);
}
