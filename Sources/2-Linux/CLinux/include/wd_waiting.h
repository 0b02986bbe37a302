/* SPDX-License-Identifier: Apache-2.0
 *
 * What a blocked thread of another process waits for: the kind of its system call, its memory, its Unix sockets.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum wd_call {
    WD_CALL_OTHER = 0,
    WD_CALL_DESCRIPTOR, /* the first argument is the open file that the call waits for */
    WD_CALL_SEND, /* the first argument is the open file that is written to */
    WD_CALL_CONNECT,
    WD_CALL_MOVE,             /* the first two arguments are open files */
    WD_CALL_MOVE_WITH_OFFSET, /* the first and the third argument are open files */
    WD_CALL_MESSAGE_QUEUE,    /* the first argument is the open queue: mq_overview(7) */
    WD_CALL_SYSTEM_V_SEMAPHORE,
    WD_CALL_SYSTEM_V_QUEUE,
    WD_CALL_EPOLL,
    WD_CALL_POLL,
    WD_CALL_SELECT,
    WD_CALL_FUTEX,
    WD_CALL_FUTEX_VECTOR, /* futex_waitv(2): the first argument is an array of the second one's length */
    WD_CALL_FUTEX_WAIT,   /* futex_wait(2), which has no operation */
    WD_CALL_FLOCK,
    WD_CALL_FCNTL,
    WD_CALL_WAIT4,
    WD_CALL_WAITID,
    WD_CALL_SLEEP,   /* nanosleep(2), clock_nanosleep(2) */
    WD_CALL_PAUSE,   /* pause(2) */
    WD_CALL_SUSPEND, /* rt_sigsuspend(2): the first argument is the mask meanwhile */
    WD_CALL_SIGNAL,  /* rt_sigtimedwait(2): the first argument is the set of signals */
    WD_CALL_START, /* vfork(2), clone(2) or clone3(2), which may wait until the child has left the caller's memory */
};

/* The kind of a system call by its number on this architecture. */
enum wd_call wd_call_kind(long number);

/* Whether a call waits for events of any kind, as an event loop does when there is nothing to do. */
bool wd_call_waits_for_events(long number);

/* Whether a call of WD_CALL_SYSTEM_V_QUEUE waits for a message; if not, for room. */
bool wd_call_receives_message(long number);

/* Whether a call that gets an open file neither reads nor writes the caller's memory while it waits for that file. */
bool wd_call_leaves_memory(long number);

/* process_vm_readv(2): the number of bytes read, possibly fewer than requested, or -1 with errno. Does not wait for the
 * process, but may wait for one of its pages. */
long wd_read_process_memory(pid_t pid, uint64_t address, void *buffer, unsigned long length);

/* The process that has last changed a System V semaphore (sempid, semctl(2)), by its ID in this pid namespace: 0 if it is in
 * another one. A negative result means an error, with errno: the set is gone, or CAP_IPC_OWNER and the right to read it are
 * missing. */
int wd_semaphore_changer(int set, int number);

/* The name of a socket's protocol, such as "TCPv6" or "UNIX-STREAM", by the path of its /proc/PID/fd entry: the
 * extended attribute system.sockprotoname, xattr(7). 0, or -1 with errno. The path must lead to a socket: other files
 * may block. */
int wd_socket_protocol(const char *path, char *name, unsigned long size);

struct wd_unix_socket {
    uint32_t peer;           /* inode of the socket at the other end; 0: none */
    uint32_t receive_queue;  /* bytes to read; for a listening socket, connections to accept */
    bool has_receive_queue;
    bool is_listening;
    uint8_t name_length;     /* 0: none; an abstract name begins with a NUL */
    char name[108];
};

/* sock_diag(7) on a Unix socket of this network namespace. -1 with errno: ENOENT if there is none with this inode or
 * the kernel lacks UNIX_DIAG. Does not wait. */
int wd_unix_socket_query(uint32_t inode, struct wd_unix_socket *result);

/* The process at the other end of a connected Unix socket that a process has as a descriptor, by SO_PEERCRED, unix(7): who
 * called listen(2), connect(2) or socketpair(2), and may have passed the socket on or ended since. The caller needs the right to
 * trace the process; wd_internet_socket_query says what closing the copy may take. 0 with *peer, or -1 with errno; ENOENT if that
 * process is in no visible pid namespace. */
int wd_unix_socket_peer_process(pid_t process, int number, pid_t *peer);

/* The name to which a Unix socket is connected that a process has as a descriptor, getpeername(2): that of the socket that
 * listens, even while the connection waits to be accepted. Rights and closing as for wd_unix_socket_peer_process. Fills
 * name with at most `size` bytes of sun_path. Their number, 0 without a name, or -1 with errno; ENOTCONN without a peer. */
int wd_unix_socket_peer_name(pid_t process, int number, char *name, unsigned size);
