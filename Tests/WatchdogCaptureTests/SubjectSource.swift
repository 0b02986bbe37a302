// SPDX-License-Identifier: Apache-2.0

/// A C program that gets itself into every state that a capture must cope with.
///
/// It prints a line per thread, "thread TID ADDRESS VALUE", where VALUE is the stack's word at ADDRESS, and then
/// "ready". If its main thread blocks in read(2), it echoes every byte.
let subjectSource = #"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <sys/ptrace.h>
    #include <sys/syscall.h>
    #include <sys/wait.h>
    #include <unistd.h>

    static pthread_barrier_t barrier;
    static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

    static void announce(volatile uint64_t *marker) {
        pthread_mutex_lock(&output);
        printf("thread %ld %llu %llu\n", syscall(SYS_gettid), (unsigned long long)(uintptr_t)marker,
               (unsigned long long)*marker);
        fflush(stdout);
        pthread_mutex_unlock(&output);
    }

    static void ready(void) {
        pthread_mutex_lock(&output);
        puts("ready");
        fflush(stdout);
        pthread_mutex_unlock(&output);
    }

    __attribute__((noinline)) static void echo(void) {
        volatile uint64_t marker = UINT64_C(0x5741544348444F47) ^ (uint64_t)getpid();
        announce(&marker);
        ready();
        char byte;
        for (;;) {
            ssize_t length = read(0, &byte, 1);
            if (length < 0 && errno == EINTR) continue;
            if (length <= 0) exit(0);
            if (write(1, &byte, 1) != 1) exit(1);
        }
    }

    static void *wait_in_futex(void *argument) {
        volatile uint64_t marker = UINT64_C(0xBADF00D000000000) + (uint64_t)(uintptr_t)argument;
        announce(&marker);
        pthread_barrier_wait(&barrier);
        pause();
        return (void *)(uintptr_t)marker;
    }

    static void *run_echo(void *argument) {
        pthread_join(*(pthread_t *)argument, NULL);
        echo();
        return NULL;
    }

    static void start_threads(long count) {
        pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
        for (long i = 0; i < count; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, wait_in_futex, (void *)(uintptr_t)(i + 1)) != 0) exit(2);
        }
        pthread_barrier_wait(&barrier);
    }

    static volatile sig_atomic_t counted;
    static void count_signal(int number) {
        (void)number;
        counted++;
    }

    static void *make_threads(void *argument) {
        for (;;) {
            pthread_t thread;
            pthread_attr_t attributes;
            pthread_attr_init(&attributes);
            pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
            pthread_create(&thread, &attributes, (void *(*)(void *))getppid, NULL);
            pthread_attr_destroy(&attributes);
        }
        return argument;
    }

    #ifdef SWIFT_SECTION
    static int section __attribute__((used, section("swift5_protocols"))) = 1;
    #endif

    struct context {
        struct context *parent;
        void (*resume)(void);
    };

    /* Two contexts, as Swift's tasks have them, and one that is none, since it resumes in data. */
    static void run_task(void) {
        struct context *volatile context = malloc(sizeof *context);
        struct context *volatile decoy = malloc(sizeof *decoy);
        struct context *parent = malloc(sizeof *parent);
        *parent = (struct context){NULL, ready};
        *context = (struct context){parent, echo};
        *decoy = (struct context){parent, (void (*)(void))&barrier};
        printf("thread 0 %llu %llu\n", (unsigned long long)(uintptr_t)context, (unsigned long long)(uintptr_t)parent);
        printf("thread 0 %llu %llu\n", (unsigned long long)(uintptr_t)parent, 0ULL);
        printf("thread 1 %llu %llu\n", (unsigned long long)(uintptr_t)decoy, 0ULL);
        echo();
        free(context);
        free(decoy);
    }

    static void *execute(void *argument) {
        char *const *arguments = argument;
        execv("/proc/self/exe", arguments);
        return NULL;
    }

    /* Mappings of one page each are never joined. */
    static void map_often(const char *path) {
        int file = open(path, O_RDONLY);
        for (int i = 0; i < 5000; i++)
            if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) exit(5);
    }

    /* The second image is silent. */
    static void execute_for_ever(char *const *arguments) {
        static char *silent[] = {"subject", "executes", "1", NULL};
        if (arguments[2] == NULL) ready();
        pthread_t thread;
        pthread_create(&thread, NULL, execute, silent);
        pause();
    }

    int main(int count, char **arguments) {
        const char *mode = count > 1 ? arguments[1] : "";
        long number = count > 2 ? atol(arguments[2]) : 0;
        /* Yama would permit only its ancestors to trace it; here, another child of the test does. */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (strcmp(mode, "threads") == 0) {
            start_threads(number - 1);
            echo();
        } else if (strcmp(mode, "spin") == 0) {
            volatile uint64_t marker = 0x5350494E;
            announce(&marker);
            ready();
            for (;;) marker = marker;
        } else if (strcmp(mode, "leader-exits") == 0) {
            static pthread_t self, thread;
            self = pthread_self();
            pthread_create(&thread, NULL, run_echo, &self);
            pthread_exit(NULL);
        } else if (strcmp(mode, "non-dumpable") == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            echo();
        } else if (strcmp(mode, "vfork") == 0) {
            volatile uint64_t marker = 0x56464F524B;
            announce(&marker);
            ready();
            pid_t child = vfork();
            if (child == 0) {
                char byte;
                while (syscall(SYS_read, 0, &byte, 1) < 0) continue;
                _exit(0);
            }
            puts("returned");
            fflush(stdout);
            echo();
        } else if (strcmp(mode, "vforks") == 0) {
            ready();
            for (;;) {
                pid_t child = vfork();
                if (child == 0) {
                    usleep(5000);
                    _exit(0);
                }
                waitpid(child, 0, 0);
            }
        } else if (strcmp(mode, "trace") == 0) {
            if (ptrace(PTRACE_SEIZE, (pid_t)number, 0, 0) != 0) return 3;
            echo();
        } else if (strcmp(mode, "signals") == 0) {
            struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
            sigaction(SIGUSR1, &action, NULL);
            volatile uint64_t marker = 1;
            announce(&marker);
            ready();
            char byte;
            while (read(0, &byte, 1) == 1) {
                printf("%d\n", (int)counted);
                fflush(stdout);
            }
        } else if (strcmp(mode, "task") == 0) {
            if (count > 2 && dlopen(arguments[2], RTLD_NOW) == NULL) return 4;
            run_task();
        } else if (strcmp(mode, "executes") == 0) {
            execute_for_ever(arguments);
        } else if (strcmp(mode, "maps") == 0) {
            map_often(arguments[2]);
            echo();
        } else if (strcmp(mode, "makes-threads") == 0) {
            pthread_t thread;
            pthread_create(&thread, NULL, make_threads, NULL);
            echo();
        } else {
            echo();
        }
        return 0;
    }

    """#
