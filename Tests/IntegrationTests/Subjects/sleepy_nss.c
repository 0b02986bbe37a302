/* SPDX-License-Identifier: Apache-2.0
 *
 * A user database that does not answer for half a minute: nss(5), "sleepy". Built as libnss_sleepy.so.2.
 */
#include <grp.h>
#include <nss.h>
#include <pwd.h>
#include <stddef.h>
#include <unistd.h>

static enum nss_status wait_long(int *error) {
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
