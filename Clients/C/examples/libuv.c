/* SPDX-License-Identifier: Apache-2.0 */

/* A service on the loop of libuv. */

#include "watchdog-libuv.h"

static uv_signal_t sigterm;
static struct watchdog_libuv glue;

static void end(void)
{
    watchdog_stopping(glue.watchdog);
    /* The watchdog does not keep the loop alive; the signal does. */
    if (!uv_is_closing((uv_handle_t *)&sigterm)) uv_close((uv_handle_t *)&sigterm, NULL);
}

static void terminate(struct watchdog *watchdog, void *context)
{
    (void)watchdog;
    (void)context;
    end();
}

static void handle_sigterm(uv_signal_t *handle, int number)
{
    (void)handle;
    (void)number;
    end();
}

int main(void)
{
    struct watchdog *watchdog = watchdog_attach(0);
    uv_loop_t *loop = uv_default_loop();
    uv_signal_init(loop, &sigterm);
    uv_signal_start(&sigterm, handle_sigterm, SIGTERM);
    if (watchdog_libuv_attach(&glue, watchdog, loop) < 0) return 1;
    watchdog_on_terminate(watchdog, terminate, NULL);
    watchdog_ready(watchdog);
    uv_run(loop, UV_RUN_DEFAULT);
    watchdog_libuv_detach(&glue);
    uv_run(loop, UV_RUN_NOWAIT);
    watchdog_detach(watchdog);
    return uv_loop_close(loop) != 0;
}
