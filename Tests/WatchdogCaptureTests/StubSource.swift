// SPDX-License-Identifier: Apache-2.0

/// C programs that stand in for `watchdogd-symbolicate`.
enum StubSource {
    /// Prints a capture whose notes describe the program's environment, "KEY=VALUE".
    static let inspects = #"""
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <sys/resource.h>
        #include <unistd.h>

        extern char **environ;

        static void limit(const char *name, int resource) {
            struct rlimit limit;
            getrlimit(resource, &limit);
            printf("\"%s=%llu\",", name, (unsigned long long)limit.rlim_max);
        }

        int main(int count, char **arguments) {
            printf("{\"method\":\"procfs\",\"frozenNanoseconds\":1,\"threads\":[],\"images\":[],\"notes\":[");
            printf("\"arguments=");
            for (int i = 0; i < count; i++) printf("%s ", arguments[i]);
            printf("\",");
            int variables = 0;
            while (environ[variables] != NULL) variables++;
            printf("\"uid=%d\",\"gid=%d\",\"groups=%d\",\"variables=%d\",", getuid(), getgid(), getgroups(0, NULL),
                   variables);
            printf("\"privileges=%d\",\"leader=%d\",", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), getsid(0) == getpid());
            limit("AS", RLIMIT_AS);
            limit("DATA", RLIMIT_DATA);
            limit("CPU", RLIMIT_CPU);
            limit("FSIZE", RLIMIT_FSIZE);
            limit("CORE", RLIMIT_CORE);
            int open = 0;
            for (int i = 0; i < 4096; i++)
                if (fcntl(i, F_GETFD) >= 0) open++;
            printf("\"descriptors=%d\",", open);
            char target[256];
            ssize_t length = readlink("/proc/self/fd/0", target, sizeof target);
            printf("\"input=%.*s\",", (int)length, target);
            uint64_t magic = 0;
            read(3, &magic, sizeof magic);
            printf("\"snapshot=%d\",", magic == 0x0031504e53474457);
            char elf[4];
            int modules = 0;
            for (int i = 4; pread(i, elf, 4, 0) == 4 && memcmp(elf, "\177ELF", 4) == 0; i++) modules++;
            printf("\"modules=%d\",", modules);
            printf("\"end\"]}\n");
            return 0;
        }

        """#

    /// A program with this body of `main`.
    static func running(_ body: String) -> String {
        """
        #define _GNU_SOURCE
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>

        int main(void) {
            \(body)
            return 0;
        }

        """
    }
}
