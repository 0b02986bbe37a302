// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <linux/futex.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>

#include "zoo.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t special;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// A worker that takes a mutex and keeps it.
static void *hold(void *mutex) {
    pthread_mutex_lock(mutex);
    wait_until_started();
    return sleep_for_ever(NULL);
}

static void lock_special(int type, int protocol, int robust) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&special, &attributes);
    start(hold, &special, "holder");
    wait_until_started();
    pthread_mutex_lock(&special);
}

KIND(mutex) {
    start(hold, &first, "holder");
    wait_until_started();
    pthread_mutex_lock(&first);
}
KIND(recursive_mutex) { lock_special(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0); }
KIND(errorcheck_mutex) { lock_special(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, 0); }
KIND(robust_mutex) { lock_special(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 1); }
KIND(pi_mutex) { lock_special(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0); }
KIND(self_deadlock) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&first);
}

static void *lock_in_turn(void *unused) {
    (void)unused;
    pthread_mutex_lock(&second);
    wait_until_started();
    pthread_mutex_lock(&first);
    return NULL;
}
KIND(deadlock) {
    pthread_mutex_lock(&first);
    start(lock_in_turn, NULL, "rival");
    wait_until_started();
    pthread_mutex_lock(&second);
}

static void *write_lock(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&rwlock);
    wait_until_started();
    return sleep_for_ever(NULL);
}
KIND(rwlock_writer) {
    start(write_lock, NULL, "writer");
    wait_until_started();
    pthread_rwlock_rdlock(&rwlock);
}
static void *read_lock(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&rwlock);
    wait_until_started();
    return sleep_for_ever(NULL);
}
KIND(rwlock_reader) {
    start(read_lock, NULL, "reader");
    wait_until_started();
    pthread_rwlock_wrlock(&rwlock);
}
KIND(condition) {
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&first);
    for (;;) pthread_cond_wait(&condition, &first);
}
KIND(semaphore) {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
}
KIND(thread_barrier) {
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_barrier_wait(&barrier);
}
KIND(join) { pthread_join(start(sleep_for_ever, NULL, "worker"), NULL); }

static void initialise(void) {
    wait_until_started();
    sleep_for_ever(NULL);
}
static void *initialise_once(void *unused) {
    (void)unused;
    pthread_once(&once, initialise);
    return NULL;
}
KIND(once_initialiser) {
    start(initialise_once, NULL, "initialiser");
    wait_until_started();
    pthread_once(&once, initialise);
}
KIND(raw_futex) {
    static int word = 7;
    for (;;) syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 7, NULL, NULL, 0);
}

// struct futex_waitv and its call are newer than the headers of some systems: linux/futex.h.
struct futex_word {
    unsigned long long value, address;
    unsigned flags, reserved;
};
KIND(several_futexes) {
    static unsigned words[2] = {7, 8};
    struct futex_word waits[2];
    for (int i = 0; i < 2; i++)
        waits[i] = (struct futex_word){.value = words[i], .address = (unsigned long)&words[i], .flags = 2 | 128};
    if (syscall(449, waits, 2, 0, NULL, 0) < 0) fail("futex_waitv");
}
KIND(one_of_one_futex) {
    start(hold, &first, "holder");
    wait_until_started();
    // As pthread_mutex_lock does, but with the newer call.
    __atomic_store_n(&first.__data.__lock, 2, __ATOMIC_SEQ_CST);
    struct futex_word wait = {.value = 2, .address = (unsigned long)&first.__data.__lock, .flags = 2 | 128};
    if (syscall(449, &wait, 1, 0, NULL, 0) < 0) fail("futex_waitv");
}

// Each of three threads holds one lock and wants the next one's.
static void *lock_third_then_first(void *unused) {
    (void)unused;
    pthread_mutex_lock(&third);
    wait_until_started();
    pthread_mutex_lock(&first);
    return NULL;
}
static void *lock_second_then_third(void *unused) {
    (void)unused;
    pthread_mutex_lock(&second);
    wait_until_started();
    pthread_mutex_lock(&third);
    return NULL;
}
KIND(deadlock_of_three) {
    pthread_mutex_lock(&first);
    start(lock_third_then_first, NULL, "third");
    wait_until_started();
    start(lock_second_then_third, NULL, "second");
    wait_until_started();
    pthread_mutex_lock(&second);
}

static void *want_first(void *unused) {
    (void)unused;
    wait_until_started();
    pthread_mutex_lock(&first);
    return NULL;
}
KIND(deadlock_by_join) {
    pthread_mutex_lock(&first);
    pthread_t worker = start(want_first, NULL, "worker");
    wait_until_started();
    pthread_join(worker, NULL);
}

static void *read_lock_then_first(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&rwlock);
    wait_until_started();
    pthread_mutex_lock(&first);
    return NULL;
}
KIND(deadlock_of_two_kinds) {
    pthread_mutex_lock(&first);
    start(read_lock_then_first, NULL, "rival");
    wait_until_started();
    pthread_rwlock_rdlock(&rwlock);
}

// The holder of the lock waits for data, not for a lock.
static void *hold_and_read(void *unused) {
    int ends[2];
    char byte;
    (void)unused;
    if (pipe(ends) != 0) fail("pipe");
    pthread_mutex_lock(&first);
    wait_until_started();
    if (read(ends[0], &byte, 1) < 0) fail("read");
    return NULL;
}
KIND(mutex_of_reader) {
    start(hold_and_read, NULL, "reader");
    wait_until_started();
    pthread_mutex_lock(&first);
}

// A chain: the main thread waits for a thread that waits for another one.
static void *hold_first_want_second(void *unused) {
    (void)unused;
    pthread_mutex_lock(&first);
    wait_until_started();
    pthread_mutex_lock(&second);
    return NULL;
}
KIND(mutex_chain) {
    start(hold, &second, "last");
    wait_until_started();
    start(hold_first_want_second, NULL, "middle");
    wait_until_started();
    pthread_mutex_lock(&first);
}

// The thread that held it has exited, and the lock is not robust.
static void *hold_and_end(void *mutex) {
    pthread_mutex_lock(mutex);
    return NULL;
}
KIND(mutex_of_ended_thread) {
    pthread_join(start(hold_and_end, &first, "gone"), NULL);
    pthread_mutex_lock(&first);
}

static struct timespec in_an_hour(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 3600;
    return time;
}
KIND(mutex_timed) {
    struct timespec end = in_an_hour(CLOCK_REALTIME);
    start(hold, &first, "holder");
    wait_until_started();
    pthread_mutex_timedlock(&first, &end);
}
KIND(condition_timed) {
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end = in_an_hour(CLOCK_REALTIME);
    pthread_mutex_lock(&first);
    pthread_cond_timedwait(&condition, &first, &end);
}
KIND(semaphore_timed) {
    sem_t semaphore;
    struct timespec end = in_an_hour(CLOCK_REALTIME);
    sem_init(&semaphore, 0, 0);
    sem_timedwait(&semaphore, &end);
}
KIND(rwlock_two_writers) {
    start(write_lock, NULL, "writer");
    wait_until_started();
    pthread_rwlock_wrlock(&rwlock);
}

static void *hold_c11(void *mutex) {
    mtx_lock(mutex);
    wait_until_started();
    return sleep_for_ever(NULL);
}
KIND(c11_mutex) {
    static mtx_t mutex;
    mtx_init(&mutex, mtx_plain);
    start(hold_c11, &mutex, "holder");
    wait_until_started();
    mtx_lock(&mutex);
}
KIND(c11_condition) {
    static mtx_t mutex;
    static cnd_t condition;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    mtx_lock(&mutex);
    cnd_wait(&condition, &mutex);
}

// Locks between processes.
static struct {
    pthread_mutex_t mutex;
    sem_t semaphore;
} *shared;

static void share(int robust) {
    pthread_mutexattr_t attributes;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (robust) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->mutex, &attributes);
    sem_init(&shared->semaphore, 1, 0);
}
static void hold_shared(void) {
    pthread_mutex_lock(&shared->mutex);
    child_is_ready();
}
KIND(shared_mutex) {
    share(0);
    child(hold_shared);
    pthread_mutex_lock(&shared->mutex);
}
KIND(shared_mutex_of_stopped) {
    share(0);
    pid_t holder = child(hold_shared);
    kill(holder, SIGSTOP);
    waitpid(holder, NULL, WUNTRACED);
    pthread_mutex_lock(&shared->mutex);
}
KIND(shared_mutex_of_dead) {
    share(0);
    pid_t holder = child(hold_shared);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    pthread_mutex_lock(&shared->mutex);
}
KIND(shared_semaphore) {
    share(0);
    child(child_is_ready);
    sem_wait(&shared->semaphore);
}
