/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that only ask a daemon need nothing of SQLite: finding, mapping and relocating it costs each of them 0.2 ms. So it
 * is loaded when the first of its functions is called.
 */
#include "CSQLite.h"

#define LIBRARY "libsqlite3.so.0"
#define FUNCTIONS(F, N) \
    F(int, sqlite3_bind_blob, (sqlite3_stmt *s, int i, const void *p, int n, void (*d)(void *)), (s, i, p, n, d)) \
    F(int, sqlite3_bind_int64, (sqlite3_stmt *s, int i, sqlite3_int64 v), (s, i, v)) \
    F(int, sqlite3_bind_null, (sqlite3_stmt *s, int i), (s, i)) \
    F(int, sqlite3_bind_text, (sqlite3_stmt *s, int i, const char *p, int n, void (*d)(void *)), (s, i, p, n, d)) \
    F(int, sqlite3_busy_timeout, (sqlite3 *db, int ms), (db, ms)) \
    F(int, sqlite3_clear_bindings, (sqlite3_stmt *s), (s)) \
    F(int, sqlite3_close, (sqlite3 *db), (db)) \
    F(const void *, sqlite3_column_blob, (sqlite3_stmt *s, int i), (s, i)) \
    F(int, sqlite3_column_bytes, (sqlite3_stmt *s, int i), (s, i)) \
    F(sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt *s, int i), (s, i)) \
    F(const unsigned char *, sqlite3_column_text, (sqlite3_stmt *s, int i), (s, i)) \
    F(int, sqlite3_column_type, (sqlite3_stmt *s, int i), (s, i)) \
    F(const char *, sqlite3_errmsg, (sqlite3 *db), (db)) \
    F(const char *, sqlite3_errstr, (int code), (code)) \
    F(int, sqlite3_exec, (sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *p, \
      char **message), (db, sql, row, p, message)) \
    F(int, sqlite3_finalize, (sqlite3_stmt *s), (s)) \
    F(sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3 *db), (db)) \
    F(int, sqlite3_open_v2, (const char *name, sqlite3 **db, int flags, const char *vfs), (name, db, flags, vfs)) \
    F(int, sqlite3_prepare_v3, (sqlite3 *db, const char *sql, int n, unsigned int flags, sqlite3_stmt **s, \
      const char **tail), (db, sql, n, flags, s, tail)) \
    F(int, sqlite3_reset, (sqlite3_stmt *s), (s)) \
    F(int, sqlite3_step, (sqlite3_stmt *s), (s))

#include "wd_on_demand.h"
