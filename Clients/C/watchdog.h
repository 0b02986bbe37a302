/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libwatchdog: the app's side of supervision. It reports when the app can be used, and proves that its main loop runs.
 *
 * The environment decides who listens. Nothing here fails or needs checking:
 *
 *   WATCHDOG_CHANNEL  watchdogd. The app says hello and answers each ping from its main loop. With WATCHDOG_LIFECYCLE,
 *                     it also receives states and events.
 *   NOTIFY_SOCKET     systemd, or any other supervisor that speaks sd_notify(3). READY=1, STATUS=, EXTEND_TIMEOUT_USEC=
 *                     and STOPPING=1 go there, and the main loop sends WATCHDOG=1 at half of WATCHDOG_USEC if that is
 *                     meant for this process (WATCHDOG_PID).
 *   neither           The library is silent. Every function works.
 *
 * What all functions guarantee:
 *
 *   - Nothing blocks, nothing raises SIGPIPE, nothing prints, nothing exits.
 *   - A handle of NULL is allowed everywhere, and stands for an app that nobody supervises.
 *   - If the supervisor does not read fast enough, the library keeps the latest message of each kind and sends it
 *     later. It slows an app down to ten messages a second after a burst, but never delays answers to pings, readiness
 *     or other answers. If the supervisor exits, the library falls silent.
 *   - Programs that the app starts do not inherit the channel. In a child that has forked but not called execve, the
 *     handle is silent.
 *   - Texts are UTF-8 and end at NUL; NULL counts as "". The library cuts them at their limits, never within a
 *     character, and replaces line breaks by spaces and invalid UTF-8 by U+FFFD.
 *
 * Threads: call functions marked "any thread" from any thread between watchdog_attach() and watchdog_detach(). All
 * others belong to the thread that runs the main loop. Only watchdog_service() runs callbacks, on that thread. A
 * callback may call any function, including watchdog_service() and watchdog_detach().
 */

#ifndef WATCHDOG_H
#define WATCHDOG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* The connection to the supervisor. */
struct watchdog;

/* Flags of watchdog_attach(). */
enum {
    /* The app handles states, expirations and events, and answers them. */
    WATCHDOG_LIFECYCLE = 1
};

/* Whether the user sees the app. */
enum {
    /* The app is in use. */
    WATCHDOG_FOREGROUND = 1,
    /* The app is out of sight, and may soon be suspended. */
    WATCHDOG_BACKGROUND = 2
};

/* What a callback returns. */
enum {
    /* Done: send the answer now. */
    WATCHDOG_DONE = 0,
    /* The app continues, and calls watchdog_state_done() or watchdog_event_done() later. */
    WATCHDOG_LATER = 1
};

/* Limits. The library cuts longer texts. */
enum {
    WATCHDOG_STATUS_BYTES_MAX = 1024,
    WATCHDOG_PROGRESS_BYTES_MAX = 256,
    WATCHDOG_SUMMARY_BYTES_MAX = 128,
    /* The name of a background task. */
    WATCHDOG_TASK_NAME_BYTES_MAX = 128,
    /* The name of a launch task, and the kind of an event. */
    WATCHDOG_NAME_BYTES_MAX = 64,
    WATCHDOG_PAYLOAD_BYTES_MAX = 2048,
    /* Background tasks that are open, or whose end has not been sent yet. */
    WATCHDOG_TASKS_MAX = 64,
    /* Launch tasks in one launch. */
    WATCHDOG_LAUNCH_TASKS_MAX = 16,
    /* Unfinished states; also unfinished events. */
    WATCHDOG_LATER_MAX = 32
};

/* MARK: Connection */

/*
 * Connects to the supervisor and says hello.
 *
 * Reads WATCHDOG_CHANNEL, WATCHDOG_STATE and WATCHDOG_EVENT from the environment and removes them. Unusable values
 * count as absent; a descriptor that is not a channel stays open. Call this first in the program, after daemon(3) if
 * the program uses that, and before it starts threads, because it changes the environment.
 *
 * flags: WATCHDOG_LIFECYCLE or 0.
 * Returns the handle, even if nobody supervises the app; NULL with errno ENOMEM, or EALREADY if an earlier handle is
 * still attached.
 */
struct watchdog *watchdog_attach(unsigned flags);

/*
 * Disconnects, closes the descriptor and frees the handle, which no thread may use from this call on. Tries once more
 * to send what is waiting. An app that exits need not call this.
 *
 * watchdogd continues to supervise the process, without pings. Stop waiting on the descriptor first.
 */
void watchdog_detach(struct watchdog *watchdog);

/* 1 while somebody listens, otherwise 0. Any thread. */
int watchdog_is_supervised(struct watchdog *watchdog);

/* MARK: Main loop */

/*
 * The descriptor to wait on for reading, besides the loop's own; -1, which poll(2) ignores, if no message will arrive.
 * Neither read nor close it.
 *
 * It does not change before the callback of watchdog_on_disconnected(), and is -1 from then on. The number stays in use
 * until watchdog_detach(), but it is then always readable: stop waiting on it.
 */
int watchdog_descriptor(struct watchdog *watchdog);

/*
 * How long the loop may wait before it calls watchdog_service() even if nothing has arrived, in the form that poll(2)
 * and epoll_wait(2) take: milliseconds, rounded up; -1 for no limit. Call this before each wait.
 */
int watchdog_timeout_ms(struct watchdog *watchdog);

/*
 * Answers messages, runs callbacks and sends what is due; reads at most 64 messages, so that a flood leaves time for
 * the app's work. Never blocks, unless a callback does or a test has the main loop hang (`watchdogd run --fault
 * main-hang`).
 *
 * Call it when the descriptor is readable and when the timeout has passed; extra calls do no harm. Call it only from
 * the loop that must not hang, on the thread that does the app's work: an answer from a dedicated thread proves
 * nothing.
 *
 * Returns 1 if the supervisor has asked the app to exit, now or earlier, else 0.
 */
int watchdog_service(struct watchdog *watchdog);

/*
 * Sets a callback that wakes the loop: a message has to wait, so watchdog_timeout_ms() has become shorter while the
 * loop may be asleep. The callback makes the loop read the timeout again, for example by writing to an eventfd(2), by
 * g_main_context_wakeup() or by uv_async_send().
 *
 * It runs on the thread that sent the message. Set it before other threads use the handle. Without it, such messages
 * wait until the loop calls watchdog_service() for another reason, such as the next ping.
 */
void watchdog_on_wake(struct watchdog *watchdog, void (*callback)(void *context), void *context);

/* MARK: Messages from the supervisor */

/* Callbacks run in the order in which messages arrive. A new callback replaces the previous one; NULL removes it. */

/*
 * The supervisor asks the app to exit. Called once. SIGTERM arrives as well, and ends an app that does not catch it.
 * watchdogd kills an app that does not exit within an allowance: save what must not be lost, call watchdog_stopping()
 * if that takes a while, and exit.
 */
void watchdog_on_terminate(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context);

/*
 * The app enters the foreground or the background. Only with WATCHDOG_LIFECYCLE. Called when the state changes: the
 * library itself answers a number that it has already handled, and a state in which the app already is. Without a
 * callback, it answers at once.
 *
 * state: WATCHDOG_FOREGROUND or WATCHDOG_BACKGROUND.
 * id: for watchdog_state_done().
 * Returns WATCHDOG_DONE or WATCHDOG_LATER.
 */
void watchdog_on_state(
    struct watchdog *watchdog, int (*callback)(struct watchdog *watchdog, int state, uint64_t id, void *context),
    void *context);

/*
 * How much longer background tasks may run, in microseconds from now. Only with WATCHDOG_LIFECYCLE. Called before the
 * app enters the background, and when the supervisor changes the limit.
 */
void watchdog_on_background_time(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, int64_t microseconds, void *context),
    void *context);

/* That time is nearly over: end all background tasks now. Only with WATCHDOG_LIFECYCLE. */
void watchdog_on_expire(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context);

/*
 * An event to handle. Only with WATCHDOG_LIFECYCLE. Called once for each number. Without a callback, the library
 * answers at once that nothing listens: the event is lost.
 *
 * kind, payload: valid UTF-8 without line breaks, never NULL, at most WATCHDOG_NAME_BYTES_MAX and
 * WATCHDOG_PAYLOAD_BYTES_MAX bytes, valid until the callback returns. The app defines their meaning.
 * id: for watchdog_event_done().
 * Returns WATCHDOG_DONE or WATCHDOG_LATER.
 */
void watchdog_on_event(
    struct watchdog *watchdog,
    int (*callback)(struct watchdog *watchdog, const char *kind, const char *payload, uint64_t id, void *context),
    void *context);

/*
 * The app that asked for the event whose callback runs, at most WATCHDOG_NAME_BYTES_MAX bytes; NULL if no app did, and
 * outside of watchdog_on_event()'s callback. Valid until the callback returns.
 */
const char *watchdog_event_sender(struct watchdog *watchdog);

/* The supervisor is gone. The last callback, called once; stop waiting on the descriptor. */
void watchdog_on_disconnected(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context);

/*
 * Completes a state or event whose callback returned WATCHDOG_LATER; does nothing for any other. An answer also answers
 * for all earlier numbers, so the library sends it when those are done too. Beyond WATCHDOG_LATER_MAX, the oldest
 * counts as done. Any thread.
 */
void watchdog_state_done(struct watchdog *watchdog, uint64_t id);
void watchdog_event_done(struct watchdog *watchdog, uint64_t id);

/*
 * The state of the app, WATCHDOG_FOREGROUND or WATCHDOG_BACKGROUND: the one in which it starts, then the latest that
 * watchdog_on_state() received. Any thread.
 */
int watchdog_state(struct watchdog *watchdog);

/*
 * The kind of the event that the app was launched to handle; NULL if there is none. The event itself is the first that
 * watchdog_on_event() receives. Valid until watchdog_detach(). Any thread.
 */
const char *watchdog_launch_event(struct watchdog *watchdog);

/* The time left for background tasks, in microseconds; -1 without a limit. Any thread. */
int64_t watchdog_background_microseconds(struct watchdog *watchdog);

/* MARK: Messages from the app */

/* Reports that the app can be used, which completes its launch. Any thread. */
void watchdog_ready(struct watchdog *watchdog);

/* Reports that the app has drawn its first frame. A measurement: it changes no allowance. Any thread. */
void watchdog_first_frame(struct watchdog *watchdog);

/* Reports that the app does what it was launched for. A measurement: it changes no allowance. Any thread. */
void watchdog_useful(struct watchdog *watchdog);

/* Reports in one line what the app is doing, for people; "" clears the previous line. Any thread. */
void watchdog_status(struct watchdog *watchdog, const char *text);

/*
 * Requests more time, from now, for work that takes longer than the allowance.
 *
 * Call it repeatedly while the work continues. watchdogd grants time only while the progress changes, up to a limit;
 * asking does not excuse a hang. Any thread, such as the one that works while the main loop waits for it.
 *
 * microseconds: the time in which the app will be ready, answer, exit, or ask again; 0 counts as 1.
 * progress: anything that differs from the last time only if the work has advanced, such as "412 of 1000 rows".
 */
void watchdog_extend(struct watchdog *watchdog, uint64_t microseconds, const char *progress);

/* Sets a line that a report about this app will contain; replaces the previous one. Any thread. */
void watchdog_summary(struct watchdog *watchdog, const char *text);

/* Reports that the app has begun to exit. Any thread. */
void watchdog_stopping(struct watchdog *watchdog);

/* MARK: Tasks */

/*
 * Begins work that should continue in the background: watchdogd does not suspend the app until the work ends.
 *
 * name: names the task in the report if it does not end in time.
 * Returns the task's number, which is never reused; 0 if WATCHDOG_TASKS_MAX are open. Any thread.
 */
uint64_t watchdog_begin_task(struct watchdog *watchdog, const char *name);

/* Ends the task with this number; does nothing for one that is not open, such as 0. Any thread. */
void watchdog_end_task(struct watchdog *watchdog, uint64_t id);

/*
 * Extends the measured launch until a task has ended. It changes the measurement, not the allowance. Begin the first
 * task before watchdog_ready(), and any other while one is still open.
 *
 * name: at most WATCHDOG_NAME_BYTES_MAX bytes; use each once.
 * Returns 0, or an error if no task has begun: ETIME if the launch is over, EEXIST if the name was used before, ENOSPC
 * after WATCHDOG_LAUNCH_TASKS_MAX. Any thread.
 */
int watchdog_begin_launch_task(struct watchdog *watchdog, const char *name);

/* Ends a task that extends the launch. Returns 0, or ENOENT if no open task has this name. Any thread. */
int watchdog_end_launch_task(struct watchdog *watchdog, const char *name);

/* MARK: Signposts */

/*
 * Marks in time, which reports and recordings show beside what the app was doing. They only measure. At most 32 wait to
 * be sent; the library drops and counts more. An app should set fewer than 50 a second.
 *
 * category, name: at most WATCHDOG_NAME_BYTES_MAX bytes; tabs become spaces.
 */

/* Begins an interval. Returns its number for watchdog_end_signpost(); 0 without a handle. Any thread. */
uint64_t watchdog_begin_signpost(struct watchdog *watchdog, const char *category, const char *name);

/* Ends the interval with this number, category and name, begun on any thread; does nothing for 0. Any thread. */
void watchdog_end_signpost(struct watchdog *watchdog, uint64_t id, const char *category, const char *name);

/* Marks a moment. message: details, at most 256 bytes; NULL for none. Any thread. */
void watchdog_signpost(struct watchdog *watchdog, const char *category, const char *name, const char *message);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
