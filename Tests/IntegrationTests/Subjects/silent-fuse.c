/* SPDX-License-Identifier: Apache-2.0
 *
 * A file system that stops answering: silent-fuse MOUNTPOINT OPERATION [CONTENTS [USER]]
 *
 * Speaks the kernel's FUSE protocol on /dev/fuse and mounts one executable file, "file", on an existing directory. Every
 * request is answered except OPERATION, which is read and then ignored forever:
 *
 *   access   chdir(2) into the mount blocks
 *   lookup   every path below the mount blocks, execve(2) and open(2) included
 *   getattr  stat(2) of the file blocks
 *   open     open(2) and execve(2) of the file block
 *   read     read(2) blocks, and so does touching memory that is mapped from the file
 *   flush    close(2) of the file blocks, and so does the exit of every process that has it
 *   all      everything blocks
 *   none     nothing blocks
 *
 * CONTENTS is the content of the file; the default is "#!/bin/sh\nexit 0\n". The file's size is one page. USER is the owner
 * of the server for the kernel; the default is the current user.
 *
 * The kernel never aborts a request that the server has read: a blocked process is in state D and survives SIGKILL
 * until the server ends, which closes /dev/fuse and fails all requests with ENOTCONN. The server prints "ready" once it is
 * mounted, and "silent" when it has read the first request that it ignores: before that, a process in
 * request_wait_answer may be waiting for one that is answered in a moment. It unmounts on SIGTERM and SIGINT, and exits with
 * its parent. Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_NODE = 2, PAGE = 4096, REQUEST_BYTES = 1 << 17 };

static const char *mount_point;
static char contents[PAGE];
static int device;
static int is_silent;

static void unmount(int signal) {
    (void)signal;
    umount2(mount_point, MNT_DETACH);
    _exit(0);
}

static void answer(uint64_t unique, int error, const void *body, size_t length) {
    struct fuse_out_header header = {.len = sizeof header + length, .error = -error, .unique = unique};
    struct iovec parts[] = {{&header, sizeof header}, {(void *)body, length}};
    /* ENOENT: the caller was interrupted meanwhile. */
    if (writev(device, parts, 2) < 0 && errno != ENOENT) perror("silent-fuse: write");
}

static struct fuse_attr attributes(uint64_t node) {
    return (struct fuse_attr){
        .ino = node,
        .size = node == FILE_NODE ? PAGE : 0,
        .blocks = 8,
        .mode = node == FILE_NODE ? S_IFREG | 0777 : S_IFDIR | 0777,
        .nlink = 1,
        .blksize = PAGE,
    };
}

static uint32_t operation(const char *name) {
    static const struct {
        const char *name;
        uint32_t code;
    } operations[] = {
        {"access", FUSE_ACCESS}, {"lookup", FUSE_LOOKUP}, {"getattr", FUSE_GETATTR}, {"open", FUSE_OPEN},
        {"read", FUSE_READ},     {"flush", FUSE_FLUSH},   {"all", UINT32_MAX},     {"none", 0},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(name, operations[i].name) == 0) return operations[i].code;
    }
    fprintf(stderr, "silent-fuse: unknown operation %s\n", name);
    exit(64);
}

static void serve(const struct fuse_in_header *request, const void *argument) {
    switch (request->opcode) {
    case FUSE_LOOKUP: {
        if (request->nodeid != FUSE_ROOT_ID || strcmp(argument, "file") != 0)
            return answer(request->unique, ENOENT, NULL, 0);
        struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
        return answer(request->unique, 0, &entry, sizeof entry);
    }
    case FUSE_GETATTR: {
        struct fuse_attr_out out = {.attr = attributes(request->nodeid)};
        return answer(request->unique, 0, &out, sizeof out);
    }
    case FUSE_OPEN:
    case FUSE_OPENDIR: {
        struct fuse_open_out out = {.fh = 1};
        return answer(request->unique, 0, &out, sizeof out);
    }
    case FUSE_READ: {
        const struct fuse_read_in *range = argument;
        size_t offset = range->offset < PAGE ? range->offset : PAGE;
        size_t length = range->size < PAGE - offset ? range->size : PAGE - offset;
        return answer(request->unique, 0, contents + offset, length);
    }
    case FUSE_ACCESS:
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_READDIR:
        return answer(request->unique, 0, NULL, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        return;
    default:
        return answer(request->unique, ENOSYS, NULL, 0);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: silent-fuse MOUNTPOINT OPERATION [CONTENTS [USER]]\n");
        return 64;
    }
    mount_point = argv[1];
    uint32_t silent = operation(argv[2]);
    strncpy(contents, argc >= 4 ? argv[3] : "#!/bin/sh\nexit 0\n", sizeof contents - 1);

    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device < 0) return perror("silent-fuse: /dev/fuse"), 69;
    char options[128];
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", device,
             argc == 5 ? (unsigned)atoi(argv[4]) : getuid(), getgid());
    if (mount("silent-fuse", mount_point, "fuse", MS_NODEV, options) < 0) return perror("silent-fuse: mount"), 69;
    struct sigaction action = {.sa_handler = unmount};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);

    static char buffer[REQUEST_BYTES];
    for (;;) {
        ssize_t length = read(device, buffer, sizeof buffer);
        if (length < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT)) continue;
        if (length < (ssize_t)sizeof(struct fuse_in_header)) break; /* unmounted */
        const struct fuse_in_header *request = (const void *)buffer;
        const void *argument = buffer + sizeof *request;
        if (request->opcode == FUSE_INIT) {
            const struct fuse_init_in *init = argument;
            struct fuse_init_out out = {
                .major = FUSE_KERNEL_VERSION,
                .minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor : FUSE_KERNEL_MINOR_VERSION,
                .max_write = PAGE,
            };
            answer(request->unique, 0, &out, sizeof out);
            puts("ready");
            fflush(stdout);
        } else if (request->opcode != silent && silent != UINT32_MAX) {
            serve(request, argument);
        } else if (!is_silent) {
            is_silent = 1;
            puts("silent");
            fflush(stdout);
        }
    }
    unmount(0);
}
