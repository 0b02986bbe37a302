/* SPDX-License-Identifier: Apache-2.0 */

/* libwatchdog in a GLib main loop (glib-2.0), and so in every GTK app. */

#ifndef WATCHDOG_GLIB_H
#define WATCHDOG_GLIB_H

#include <glib-unix.h>

#include "watchdog.h"

struct watchdog_glib_source {
    GSource source;
    struct watchdog *watchdog;
    gpointer tag;
};

static inline void watchdog_glib_update(struct watchdog_glib_source *self)
{
    if (self->tag && watchdog_descriptor(self->watchdog) < 0) {
        g_source_remove_unix_fd(&self->source, self->tag);
        self->tag = NULL;
    }
}

static inline gboolean watchdog_glib_prepare(GSource *source, gint *timeout_ms)
{
    *timeout_ms = watchdog_timeout_ms(((struct watchdog_glib_source *)source)->watchdog);
    return *timeout_ms == 0;
}

static inline gboolean watchdog_glib_check(GSource *source)
{
    struct watchdog_glib_source *self = (struct watchdog_glib_source *)source;
    return (self->tag && g_source_query_unix_fd(source, self->tag) != 0) || watchdog_timeout_ms(self->watchdog) == 0;
}

static inline gboolean watchdog_glib_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    struct watchdog_glib_source *self = (struct watchdog_glib_source *)source;
    (void)callback;
    (void)data;
    watchdog_service(self->watchdog);
    /* A callback may have destroyed the source, and then detached the handle. */
    if (g_source_is_destroyed(source)) return G_SOURCE_REMOVE;
    watchdog_glib_update(self);
    return G_SOURCE_CONTINUE;
}

static inline void watchdog_glib_wake(void *context) { g_main_context_wakeup((GMainContext *)context); }

/*
 * Serves the watchdog from a context, at the default priority. Call it on the thread that runs the context; the context
 * must outlive the watchdog.
 *
 * context: NULL for the default one.
 * Returns the source. Call g_source_destroy() and g_source_unref() on it before watchdog_detach().
 */
static inline GSource *watchdog_glib_attach(struct watchdog *watchdog, GMainContext *context)
{
    static GSourceFuncs functions = {
        watchdog_glib_prepare, watchdog_glib_check, watchdog_glib_dispatch, NULL, NULL, NULL};
    GSource *source = g_source_new(&functions, sizeof(struct watchdog_glib_source));
    struct watchdog_glib_source *self = (struct watchdog_glib_source *)source;
    int descriptor = watchdog_descriptor(watchdog);
    self->watchdog = watchdog;
    self->tag = NULL;
    if (descriptor >= 0)
        self->tag = g_source_add_unix_fd(source, descriptor, (GIOCondition)(G_IO_IN | G_IO_HUP | G_IO_ERR));
    g_source_set_name(source, "watchdog");
    g_source_attach(source, context);
    watchdog_on_wake(watchdog, watchdog_glib_wake, context ? context : g_main_context_default());
    return source;
}

#endif
