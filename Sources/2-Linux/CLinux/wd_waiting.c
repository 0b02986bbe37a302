/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "wd_process.h"
#include "wd_sock_diag.h"

/* Since Linux 5.16 and 6.7, with the same number on every architecture: the headers may be older. */
enum { WD_SYS_FUTEX_WAITV = 449, WD_SYS_FUTEX_WAIT = 455 };

/* Newer architectures lack the system calls without "at", a timeout or flags. */
enum wd_call wd_call_kind(long number) {
    switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_ioctl:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_fallocate:
    case SYS_ftruncate:
    case SYS_syncfs:
    case SYS_readahead:
    case SYS_getdents64:
    case SYS_close:
    case SYS_fstat:
    case SYS_fstatfs:
    case SYS_fadvise64:
#ifdef SYS_cachestat
    case SYS_cachestat:
#endif
    case SYS_fchdir:
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_fgetxattr:
    case SYS_fsetxattr:
    case SYS_flistxattr:
    case SYS_fremovexattr:
    case SYS_lseek:
    case SYS_io_uring_enter:
#ifdef SYS_getdents
    case SYS_getdents:
#endif
        return WD_CALL_DESCRIPTOR;
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_vmsplice: return WD_CALL_SEND;
    case SYS_connect: return WD_CALL_CONNECT;
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return WD_CALL_SLEEP;
    case SYS_tee:
    case SYS_sendfile: return WD_CALL_MOVE;
    case SYS_splice:
    case SYS_copy_file_range: return WD_CALL_MOVE_WITH_OFFSET;
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend: return WD_CALL_MESSAGE_QUEUE;
    case SYS_semop:
    case SYS_semtimedop: return WD_CALL_SYSTEM_V_SEMAPHORE;
    case SYS_msgrcv:
    case SYS_msgsnd: return WD_CALL_SYSTEM_V_QUEUE;
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
        return WD_CALL_EPOLL;
    case SYS_ppoll:
#ifdef SYS_poll
    case SYS_poll:
#endif
        return WD_CALL_POLL;
    case SYS_pselect6:
#ifdef SYS_select
    case SYS_select:
#endif
        return WD_CALL_SELECT;
    case SYS_futex: return WD_CALL_FUTEX;
    case WD_SYS_FUTEX_WAITV: return WD_CALL_FUTEX_VECTOR;
    case WD_SYS_FUTEX_WAIT: return WD_CALL_FUTEX_WAIT;
    case SYS_flock: return WD_CALL_FLOCK;
    case SYS_fcntl: return WD_CALL_FCNTL;
    case SYS_wait4: return WD_CALL_WAIT4;
    case SYS_waitid: return WD_CALL_WAITID;
#ifdef SYS_vfork
    case SYS_vfork:
#endif
    case SYS_clone:
    case SYS_clone3: return WD_CALL_START;
#ifdef SYS_pause
    case SYS_pause: return WD_CALL_PAUSE;
#endif
    case SYS_rt_sigsuspend: return WD_CALL_SUSPEND;
    case SYS_rt_sigtimedwait: return WD_CALL_SIGNAL;
    default: return WD_CALL_OTHER;
    }
}

bool wd_call_waits_for_events(long number) {
    switch (wd_call_kind(number)) {
    case WD_CALL_EPOLL:
    case WD_CALL_POLL:
    case WD_CALL_SELECT:
    case WD_CALL_PAUSE:
    case WD_CALL_SUSPEND:
    case WD_CALL_SIGNAL: return true;
    default: return false;
    }
}

bool wd_call_receives_message(long number) { return number == SYS_msgrcv; }

bool wd_call_leaves_memory(long number) {
    switch (number) {
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_syncfs:
    case SYS_sync_file_range:
    case SYS_fallocate:
    case SYS_ftruncate:
    case SYS_close:
    case SYS_fchdir:
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_flock:
    case SYS_lseek: return true;
    default: return false;
    }
}

long wd_read_process_memory(pid_t pid, uint64_t address, void *buffer, unsigned long length) {
    struct iovec local = {buffer, length};
    struct iovec remote = {(void *)(uintptr_t)address, length};
    ssize_t length_read = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (length_read >= 0 || (errno != EPERM && errno != ENOSYS)) return length_read;
    /* Some seccomp profiles of container engines allow ptrace(2) and deny this call; the permission is the same. */
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    length_read = pread(file, buffer, length, (off_t)address);
    int error = errno;
    close(file);
    errno = error;
    return length_read;
}

int wd_semaphore_changer(int set, int number) { return (int)syscall(SYS_semctl, set, number, GETPID, 0); }

int wd_socket_protocol(const char *path, char *name, unsigned long size) {
    ssize_t length = getxattr(path, "system.sockprotoname", name, size - 1);
    if (length < 0) return -1;
    name[length] = '\0';
    return 0;
}

static void take_attribute(const struct rtattr *attribute, struct wd_unix_socket *result) {
    size_t length = RTA_PAYLOAD(attribute);
    switch (attribute->rta_type) {
    case UNIX_DIAG_NAME:
        if (length > sizeof result->name) length = sizeof result->name;
        memcpy(result->name, RTA_DATA(attribute), length);
        result->name_length = (uint8_t)length;
        break;
    case UNIX_DIAG_PEER:
        if (length >= sizeof result->peer) memcpy(&result->peer, RTA_DATA(attribute), sizeof result->peer);
        break;
    case UNIX_DIAG_RQLEN: {
        struct unix_diag_rqlen queues;
        if (length < sizeof queues) break;
        memcpy(&queues, RTA_DATA(attribute), sizeof queues);
        result->receive_queue = queues.udiag_rqueue;
        result->has_receive_queue = true;
        break;
    }
    default: break;
    }
}

struct search {
    uint32_t inode;
    struct wd_unix_socket *result;
    bool is_found;
};

static bool take_socket(const void *answer, size_t length, void *context) {
    const struct unix_diag_msg *message = answer;
    struct search *search = context;
    if (message->udiag_ino != search->inode) return false;
    search->is_found = true;
    search->result->is_listening = message->udiag_state == 10; /* TCP_LISTEN */
    int rest = (int)(length - sizeof *message);
    for (const struct rtattr *attribute = (const void *)(message + 1); RTA_OK(attribute, rest);
         attribute = RTA_NEXT(attribute, rest))
        take_attribute(attribute, search->result);
    return false;
}

int wd_unix_socket_query(uint32_t inode, struct wd_unix_socket *result) {
    memset(result, 0, sizeof *result);
    struct unix_diag_req request = {
        .sdiag_family = AF_UNIX,
        .udiag_ino = inode,
        .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN,
        .udiag_cookie = {~0U, ~0U},
    };
    struct search search = {inode, result, false};
    struct wd_sock_diag_answer answer = {
        .least = sizeof(struct unix_diag_msg),
        .limit = WD_SOCK_DIAG_ONE,
        .take = take_socket,
        .context = &search,
    };
    return wd_sock_diag_find(false, &request, sizeof request, &answer, &search.is_found);
}

int wd_unix_socket_peer_name(pid_t process, int number, char *name, unsigned size) {
    int socket = wd_copy_descriptor(process, number);
    if (socket < 0) return -1;
    struct sockaddr_un address = {0};
    socklen_t length = sizeof address;
    int result = getpeername(socket, (struct sockaddr *)&address, &length);
    int error = errno;
    close(socket);
    size_t head = offsetof(struct sockaddr_un, sun_path);
    if (result != 0 || address.sun_family != AF_UNIX) {
        errno = result != 0 ? error : EAFNOSUPPORT;
        return -1;
    }
    size_t count = length > head ? length - head : 0;
    if (count > sizeof address.sun_path) count = sizeof address.sun_path;
    if (count > size) count = size;
    memcpy(name, address.sun_path, count);
    return (int)count;
}

int wd_unix_socket_peer_process(pid_t process, int number, pid_t *peer) {
    int socket = wd_copy_descriptor(process, number);
    if (socket < 0) return -1;
    struct ucred credentials = {0};
    socklen_t length = sizeof credentials;
    int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length);
    int error = errno;
    close(socket);
    *peer = credentials.pid;
    if (result == 0 && credentials.pid > 0) return 0;
    errno = result == 0 ? ENOENT : error;
    return -1;
}
