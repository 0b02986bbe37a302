/* SPDX-License-Identifier: Apache-2.0 */
#include "wd_worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* As elfutils/debuginfod.h declares them; the library is loaded on demand, because it depends on libcurl. */
typedef struct debuginfod_client *begin_function(void);
typedef int find_function(struct debuginfod_client *client, const unsigned char *build_id, int length, char **path);
typedef void end_function(struct debuginfod_client *client);

int wd_debuginfod_find(const char *build_id, char **path)
{
    *path = NULL;
    void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 0;
    begin_function *begin = (begin_function *)dlsym(library, "debuginfod_begin");
    find_function *find = (find_function *)dlsym(library, "debuginfod_find_debuginfo");
    end_function *end = (end_function *)dlsym(library, "debuginfod_end");
    if (!begin || !find || !end)
        return 0;
    struct debuginfod_client *client = begin();
    if (!client)
        return -ENOMEM;
    /* A length of 0 means that the build-id is a hexadecimal string: debuginfod_find_debuginfo(3). */
    int file = find(client, (const unsigned char *)build_id, 0, path);
    end(client);
    if (file < 0)
        return file;
    close(file);
    return *path ? 0 : -ENOENT;
}
