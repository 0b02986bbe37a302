/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of SQLite that the launch history calls; others cannot be linked. The first call loads libsqlite3.so.0,
 * and ends the process if it is missing.
 */
#pragma once
#include <sqlite3.h>
