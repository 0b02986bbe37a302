/* SPDX-License-Identifier: Apache-2.0
 *
 * A user database that does not answer for half a minute: nss(5), "sleepy". Built as libnss_sleepy.so.2. Creates the file
 * that SLEEPY_NSS_ASKED names when it is queried.
 */
#include <fcntl.h>
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

static enum nss_status wait_long(int *error) {
    const char *asked = getenv("SLEEPY_NSS_ASKED");
    if (asked != NULL) close(open(asked, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    sleep(30);
    *error = 0;
    return NSS_STATUS_UNAVAIL;
}

enum nss_status _nss_sleepy_getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t size, int *error) {
    (void)name, (void)entry, (void)buffer, (void)size;
    return wait_long(error);
}

enum nss_status _nss_sleepy_getgrnam_r(const char *name, struct group *entry, char *buffer, size_t size, int *error) {
    (void)name, (void)entry, (void)buffer, (void)size;
    return wait_long(error);
}
