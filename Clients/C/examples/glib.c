/* SPDX-License-Identifier: Apache-2.0 */

/* An app on GLib's main loop. */

#include "watchdog-glib.h"

static void terminate(struct watchdog *watchdog, void *loop)
{
    watchdog_stopping(watchdog);
    g_main_loop_quit(loop);
}

static gboolean handle_sigterm(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    GSource *source = watchdog_glib_attach(watchdog, NULL);
    guint sigterm = g_unix_signal_add(SIGTERM, handle_sigterm, loop);
    watchdog_on_terminate(watchdog, terminate, loop);
    watchdog_ready(watchdog);
    g_main_loop_run(loop);
    g_source_remove(sigterm);
    g_source_destroy(source);
    g_source_unref(source);
    g_main_loop_unref(loop);
    watchdog_detach(watchdog);
}
