/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that only ask a daemon need nothing of libsystemd, and loading it with what it needs takes 0.5 ms: a sixth of
 * such a command. So it is loaded when the first of its functions is called.
 */
#include "CSystemd.h"

#define LIBRARY "libsystemd.so.0"
#define FUNCTIONS(F, N) \
    F(int, sd_bus_call, (sd_bus *bus, sd_bus_message *m, uint64_t usec, sd_bus_error *ret_error, \
      sd_bus_message **reply), (bus, m, usec, ret_error, reply)) \
    F(sd_bus *, sd_bus_close_unref, (sd_bus *bus), (bus)) \
    N(void, sd_bus_error_free, (sd_bus_error *e), (e)) \
    F(int, sd_bus_get_property_string, (sd_bus *bus, const char *destination, const char *path, \
      const char *interface, const char *member, sd_bus_error *ret_error, char **ret), (bus, destination, path, \
      interface, member, ret_error, ret)) \
    F(int, sd_bus_get_property_trivial, (sd_bus *bus, const char *destination, const char *path, \
      const char *interface, const char *member, sd_bus_error *ret_error, char type, void *ret_ptr), (bus, \
      destination, path, interface, member, ret_error, type, ret_ptr)) \
    F(int, sd_bus_message_append_basic, (sd_bus_message *m, char type, const void *p), (m, type, p)) \
    F(int, sd_bus_message_new_method_call, (sd_bus *bus, sd_bus_message **m, const char *destination, \
      const char *path, const char *interface, const char *member), (bus, m, destination, path, interface, \
      member)) \
    F(int, sd_bus_message_read_basic, (sd_bus_message *m, char type, void *p), (m, type, p)) \
    F(sd_bus_message *, sd_bus_message_unref, (sd_bus_message *m), (m)) \
    F(int, sd_bus_new, (sd_bus **ret), (ret)) \
    F(int, sd_bus_open_system, (sd_bus **ret), (ret)) \
    F(int, sd_bus_open_user, (sd_bus **ret), (ret)) \
    F(int, sd_bus_set_address, (sd_bus *bus, const char *address), (bus, address)) \
    F(int, sd_bus_set_method_call_timeout, (sd_bus *bus, uint64_t usec), (bus, usec)) \
    F(int, sd_bus_start, (sd_bus *bus), (bus)) \
    F(int, sd_event_add_defer, (sd_event *e, sd_event_source **s, sd_event_handler_t callback, void *userdata), (e, \
      s, callback, userdata)) \
    F(int, sd_event_add_io, (sd_event *e, sd_event_source **s, int fd, uint32_t events, \
      sd_event_io_handler_t callback, void *userdata), (e, s, fd, events, callback, userdata)) \
    F(int, sd_event_add_post, (sd_event *e, sd_event_source **s, sd_event_handler_t callback, void *userdata), (e, \
      s, callback, userdata)) \
    F(int, sd_event_add_signal, (sd_event *e, sd_event_source **s, int sig, sd_event_signal_handler_t callback, \
      void *userdata), (e, s, sig, callback, userdata)) \
    F(int, sd_event_add_time, (sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec, uint64_t accuracy, \
      sd_event_time_handler_t callback, void *userdata), (e, s, clock, usec, accuracy, callback, userdata)) \
    F(int, sd_event_exit, (sd_event *e, int code), (e, code)) \
    F(int, sd_event_get_exit_code, (sd_event *e, int *code), (e, code)) \
    F(int, sd_event_get_iteration, (sd_event *e, uint64_t *ret), (e, ret)) \
    F(int, sd_event_get_state, (sd_event *e), (e)) \
    F(int, sd_event_new, (sd_event **e), (e)) \
    F(int, sd_event_now, (sd_event *e, clockid_t clock, uint64_t *usec), (e, clock, usec)) \
    F(int, sd_event_run, (sd_event *e, uint64_t usec), (e, usec)) \
    F(sd_event_source *, sd_event_source_disable_unref, (sd_event_source *s), (s)) \
    F(int, sd_event_source_set_enabled, (sd_event_source *s, int enabled), (s, enabled)) \
    F(int, sd_event_source_set_io_events, (sd_event_source *s, uint32_t events), (s, events)) \
    F(int, sd_event_source_set_priority, (sd_event_source *s, int64_t priority), (s, priority)) \
    F(int, sd_event_source_set_time, (sd_event_source *s, uint64_t usec), (s, usec)) \
    F(sd_event *, sd_event_unref, (sd_event *e), (e)) \
    F(int, sd_id128_get_boot, (sd_id128_t *ret), (ret)) \
    F(int, sd_id128_get_machine, (sd_id128_t *ret), (ret)) \
    F(int, sd_id128_get_machine_app_specific, (sd_id128_t app_id, sd_id128_t *ret), (app_id, ret)) \
    F(int, sd_journal_add_disjunction, (sd_journal *j), (j)) \
    F(int, sd_journal_add_match, (sd_journal *j, const void *data, size_t size), (j, data, size)) \
    N(void, sd_journal_close, (sd_journal *j), (j)) \
    F(int, sd_journal_enumerate_data, (sd_journal *j, const void **data, size_t *l), (j, data, l)) \
    N(void, sd_journal_flush_matches, (sd_journal *j), (j)) \
    F(int, sd_journal_get_cursor, (sd_journal *j, char **cursor), (j, cursor)) \
    F(int, sd_journal_get_data, (sd_journal *j, const char *field, const void **data, size_t *l), (j, field, data, l)) \
    F(int, sd_journal_get_monotonic_usec, (sd_journal *j, uint64_t *ret, sd_id128_t *ret_boot_id), (j, ret, \
      ret_boot_id)) \
    F(int, sd_journal_get_realtime_usec, (sd_journal *j, uint64_t *ret), (j, ret)) \
    F(int, sd_journal_get_usage, (sd_journal *j, uint64_t *bytes), (j, bytes)) \
    F(int, sd_journal_has_persistent_files, (sd_journal *j), (j)) \
    F(int, sd_journal_has_runtime_files, (sd_journal *j), (j)) \
    F(int, sd_journal_next, (sd_journal *j), (j)) \
    F(int, sd_journal_open, (sd_journal **ret, int flags), (ret, flags)) \
    F(int, sd_journal_open_directory, (sd_journal **ret, const char *path, int flags), (ret, path, flags)) \
    F(int, sd_journal_open_files, (sd_journal **ret, const char **paths, int flags), (ret, paths, flags)) \
    F(int, sd_journal_previous, (sd_journal *j), (j)) \
    N(void, sd_journal_restart_data, (sd_journal *j), (j)) \
    F(int, sd_journal_seek_cursor, (sd_journal *j, const char *cursor), (j, cursor)) \
    F(int, sd_journal_seek_tail, (sd_journal *j), (j)) \
    F(int, sd_journal_set_data_threshold, (sd_journal *j, size_t sz), (j, sz)) \
    F(int, sd_journal_test_cursor, (sd_journal *j, const char *cursor), (j, cursor)) \
    F(int, sd_listen_fds_with_names, (int unset_environment, char ***names), (unset_environment, names)) \
    F(int, sd_watchdog_enabled, (int unset_environment, uint64_t *usec), (unset_environment, usec))

#include "wd_on_demand.h"
