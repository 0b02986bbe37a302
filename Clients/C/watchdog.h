/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libwatchdog: the app's side of supervision. It tells the supervisor when the app can be used, and proves that its
 * main loop turns.
 *
 * Who listens is decided by the environment, and nothing here needs checking:
 *
 *   WATCHDOG_CHANNEL  watchdogd. The app says hello, answers each ping from its main loop and, if it wants to, is told
 *                     of states and events.
 *   NOTIFY_SOCKET     systemd, or anybody else who speaks sd_notify(3). READY=1, STATUS=, EXTEND_TIMEOUT_USEC= and
 *                     STOPPING=1 go there, and the main loop sends WATCHDOG=1 at half of WATCHDOG_USEC if that is
 *                     meant for this process (WATCHDOG_PID).
 *   neither           Silence. Every function works and says nothing.
 *
 * What all functions guarantee:
 *
 *   - Nothing blocks, nothing raises SIGPIPE, nothing prints, nothing exits.
 *   - A handle of NULL is allowed everywhere, and stands for an app that nobody supervises.
 *   - If the supervisor does not read fast enough, what could not be sent is kept and tried again; of each kind of
 *     statement only the latest. An app that talks very much is slowed down to ten statements a second; pings,
 *     readiness and answers are never held back. If the supervisor goes away, the library falls silent.
 *   - Programs that the app starts do not inherit the channel. In a child that was forked and has not called execve,
 *     the handle is silent.
 *   - Texts are UTF-8 and end at NUL; NULL counts as "". They are cut at their limits, never within a character. Line
 *     breaks become spaces, what is not UTF-8 becomes U+FFFD.
 *
 * Threads: functions marked "any thread" may be called from any thread at any time between watchdog_attach() and
 * watchdog_detach(). All others belong to the one thread that runs the main loop, and callbacks are called there, by
 * watchdog_service() only. A callback may call every function, watchdog_service() and watchdog_detach() among them.
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

/* What watchdog_attach() may be asked for. */
enum {
    /* The app heeds states, expirations and events, and answers them. */
    WATCHDOG_LIFECYCLE = 1
};

/* Where the app stands in front of its user. */
enum {
    /* The app serves somebody now. */
    WATCHDOG_FOREGROUND = 1,
    /* The app is out of sight, and may soon be suspended. */
    WATCHDOG_BACKGROUND = 2
};

/* What a callback returns. */
enum {
    /* All is done: the answer goes out at once. */
    WATCHDOG_DONE = 0,
    /* The app goes on with it, and calls watchdog_state_done() or watchdog_event_done() when it is done. */
    WATCHDOG_LATER = 1
};

/* Limits. Longer texts are cut. */
enum {
    WATCHDOG_STATUS_BYTES_MAX = 1024,
    WATCHDOG_PROGRESS_BYTES_MAX = 256,
    WATCHDOG_SUMMARY_BYTES_MAX = 128,
    /* The name of a background task. */
    WATCHDOG_TASK_NAME_BYTES_MAX = 128,
    /* The name of a launch task, and the kind of an event. */
    WATCHDOG_NAME_BYTES_MAX = 64,
    WATCHDOG_PAYLOAD_BYTES_MAX = 2048,
    /* The most background tasks that are open, or whose end has not been sent yet. */
    WATCHDOG_TASKS_MAX = 64,
    /* The most launch tasks of one launch. */
    WATCHDOG_LAUNCH_TASKS_MAX = 16,
    /* The most states, and the most events, that are not done yet. */
    WATCHDOG_LATER_MAX = 32
};

/* MARK: Connection */

/*
 * Connects to the supervisor and says hello.
 *
 * Reads the environment, and takes WATCHDOG_CHANNEL, WATCHDOG_STATE and WATCHDOG_EVENT out of it. What is unusable
 * there counts as absent; a descriptor that is no channel is left alone. Call it first thing in the program, after
 * daemon(3) if that is used, and before the program starts threads, because it changes the environment.
 *
 * flags: WATCHDOG_LIFECYCLE or 0.
 * Returns the handle, also when nobody supervises the app. NULL with errno ENOMEM, or EALREADY while an earlier handle
 * has not been detached.
 */
struct watchdog *watchdog_attach(unsigned flags);

/*
 * Ends the conversation, closes the descriptor and frees the handle. Nothing may use it after that; no other thread may
 * be using it now. What is still waiting is tried once more. An app that exits need not call it.
 *
 * watchdogd goes on to supervise the process, without pings. Stop to wait on the descriptor first.
 */
void watchdog_detach(struct watchdog *watchdog);

/* 1 while somebody listens, otherwise 0. Any thread. */
int watchdog_is_supervised(struct watchdog *watchdog);

/* MARK: Main loop */

/*
 * What the main loop waits on for reading, besides its own descriptors; -1 when no message will come, which poll(2)
 * takes for nothing to wait for. Neither read it nor close it.
 *
 * It does not change before the callback of watchdog_on_disconnected(), and is -1 from then on. The number stays taken
 * until watchdog_detach(), but a loop that still waits on it turns without end: stop waiting.
 */
int watchdog_descriptor(struct watchdog *watchdog);

/*
 * How long the loop may wait before it calls watchdog_service() although nothing has arrived, in milliseconds, rounded
 * up; -1 for as long as it likes. As poll(2) and epoll_wait(2) take it. Ask each time before waiting.
 */
int watchdog_timeout_ms(struct watchdog *watchdog);

/*
 * Answers what has arrived, calls callbacks, sends what is due. Never blocks, apart from what callbacks do and what a
 * test asks for (`watchdogd run --fault main-hang`); reads at most 64 messages, so that a flood of them leaves the loop
 * to the app's work.
 *
 * Call it when the descriptor is readable and when the timeout has passed. A call too many does no harm. Call it on the
 * thread that does the app's work and from the loop that must not hang, and from nowhere else: a thread of its own
 * proves nothing.
 *
 * Returns 1 when the supervisor has asked the app to end, at this call or before, otherwise 0.
 */
int watchdog_service(struct watchdog *watchdog);

/*
 * Sets what is called when a word has to wait, so that watchdog_timeout_ms() has become shorter while the loop may be
 * asleep. It makes the loop ask for the timeout again: by writing to an eventfd(2), g_main_context_wakeup(),
 * uv_async_send().
 *
 * It is called on the thread that has said the word. Set it before other threads use the handle. Without it, such words
 * wait until the loop calls watchdog_service() for another reason, at the next ping for example.
 */
void watchdog_on_wake(struct watchdog *watchdog, void (*callback)(void *context), void *context);

/* MARK: What the supervisor says */

/* Callbacks are called in the order of arrival. A new one replaces the one before; NULL takes it back. */

/*
 * The app is to end. Called once; SIGTERM comes beside it, and ends an app that does not catch it. The app is killed if
 * it has not ended within an allowance: save what must not be lost, call watchdog_stopping() if that takes a while, and
 * exit.
 */
void watchdog_on_terminate(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context);

/*
 * The app goes to the foreground or the background. Called when the state changes; a number that was heeded before, and
 * a state in which the app is already, are answered without it. Only with WATCHDOG_LIFECYCLE; without a callback, all
 * is done at once.
 *
 * state: WATCHDOG_FOREGROUND or WATCHDOG_BACKGROUND.
 * id: for watchdog_state_done().
 * Returns WATCHDOG_DONE or WATCHDOG_LATER.
 */
void watchdog_on_state(
    struct watchdog *watchdog, int (*callback)(struct watchdog *watchdog, int state, uint64_t id, void *context),
    void *context);

/*
 * How long background tasks may still go on, counted from now, in microseconds. Called before the state `background` to
 * which it belongs, and whenever it has changed otherwise than by time passing. Only with WATCHDOG_LIFECYCLE.
 */
void watchdog_on_background_time(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, int64_t microseconds, void *context),
    void *context);

/* That time is nearly over: the app ends all background tasks now. Only with WATCHDOG_LIFECYCLE. */
void watchdog_on_expire(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context);

/*
 * There is an event to handle. Only with WATCHDOG_LIFECYCLE; without a callback, all is done at once. Called once for
 * each number.
 *
 * kind, payload: valid UTF-8 without line breaks, never NULL, at most WATCHDOG_NAME_BYTES_MAX and
 * WATCHDOG_PAYLOAD_BYTES_MAX bytes, gone when the callback returns. What they mean is the app's affair.
 * id: for watchdog_event_done().
 * Returns WATCHDOG_DONE or WATCHDOG_LATER.
 */
void watchdog_on_event(
    struct watchdog *watchdog,
    int (*callback)(struct watchdog *watchdog, const char *kind, const char *payload, uint64_t id, void *context),
    void *context);

/* The supervisor is gone. Called once, and the last; the loop stops waiting on the descriptor. */
void watchdog_on_disconnected(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context);

/*
 * A state or an event is done whose callback has returned WATCHDOG_LATER; does nothing for any other. An answer stands
 * for all numbers before it, so it waits until these are done too. Of more than WATCHDOG_LATER_MAX, the oldest counts
 * as done. Any thread.
 */
void watchdog_state_done(struct watchdog *watchdog, uint64_t id);
void watchdog_event_done(struct watchdog *watchdog, uint64_t id);

/*
 * The state of the app: the one in which it is to begin, then the one of which watchdog_on_state() was told last.
 * WATCHDOG_FOREGROUND or WATCHDOG_BACKGROUND. Any thread.
 */
int watchdog_state(struct watchdog *watchdog);

/*
 * The kind of the event for whose sake the app was launched; NULL when there is none. The event itself is the first of
 * watchdog_on_event(). Valid until watchdog_detach(). Any thread.
 */
const char *watchdog_launch_event(struct watchdog *watchdog);

/* What is left of the time in the background, in microseconds; -1 when nothing limits it. Any thread. */
int64_t watchdog_background_microseconds(struct watchdog *watchdog);

/* MARK: What the app says */

/* The app can be used; its launch is over. Any thread. */
void watchdog_ready(struct watchdog *watchdog);

/* The app has shown itself for the first time. It measures and changes no allowance. Any thread. */
void watchdog_first_frame(struct watchdog *watchdog);

/* The app does what it was launched for. It measures and changes no allowance. Any thread. */
void watchdog_useful(struct watchdog *watchdog);

/* What the app is doing, in one line for people; "" takes back the one before. Any thread. */
void watchdog_status(struct watchdog *watchdog, const char *text);

/*
 * Asks for time, counted from now, for work that takes longer than the app is allowed.
 *
 * Call it again and again as the work goes on. watchdogd grants time only while the progress changes, and not without
 * end; a hang is not excused by asking. Any thread, such as the one that works while the main loop waits for it.
 *
 * microseconds: until the app will be ready, have answered or have ended, or will have asked again; 0 counts as 1.
 * progress: anything that differs from the last time only if the work has advanced, such as "412 of 1000 rows".
 */
void watchdog_extend(struct watchdog *watchdog, uint64_t microseconds, const char *progress);

/* A line that will stand in a report about this app, should there be one; replaces the one before. Any thread. */
void watchdog_summary(struct watchdog *watchdog, const char *text);

/* The app has begun to end. Any thread. */
void watchdog_stopping(struct watchdog *watchdog);

/* MARK: Tasks */

/*
 * Work has begun that should go on in the background: the app is not suspended until it ends.
 *
 * name: stands in the report when the task has not ended in time.
 * Returns the number of the task, which is used once; 0 when WATCHDOG_TASKS_MAX are open. Any thread.
 */
uint64_t watchdog_begin_task(struct watchdog *watchdog, const char *name);

/* The work with this number has ended; does nothing for a task that is not open, such as 0. Any thread. */
void watchdog_end_task(struct watchdog *watchdog, uint64_t id);

/*
 * Lets what is measured as the launch go on until the task has ended. It changes the measurement, not the allowance.
 * The first one begins before watchdog_ready(), the others while another goes on.
 *
 * name: at most WATCHDOG_NAME_BYTES_MAX bytes; each is used once.
 * Returns 0; otherwise nothing has begun: ETIME for too late, EEXIST for a name that was used before, ENOSPC after
 * WATCHDOG_LAUNCH_TASKS_MAX. Any thread.
 */
int watchdog_begin_launch_task(struct watchdog *watchdog, const char *name);

/* Ends a task that has extended the launch. Returns 0, or ENOENT when none of this name is open. Any thread. */
int watchdog_end_launch_task(struct watchdog *watchdog, const char *name);

/* MARK: Signposts */

/*
 * Marks in time, which reports and recordings show beside what the app was doing. They measure and change nothing. At
 * most 32 wait to be sent; of more, the supervisor is told the number only. An app should set fewer than 50 a second.
 *
 * category, name: at most WATCHDOG_NAME_BYTES_MAX bytes; tabs become spaces.
 */

/* An interval begins. Returns its number for watchdog_end_signpost(); 0 without a handle. Any thread. */
uint64_t watchdog_begin_signpost(struct watchdog *watchdog, const char *category, const char *name);

/* The interval with this number, category and name ends; does nothing for 0. Any thread, also another one. */
void watchdog_end_signpost(struct watchdog *watchdog, uint64_t id, const char *category, const char *name);

/* Something happens that has no length. message: more about it, at most 256 bytes; NULL for nothing. Any thread. */
void watchdog_signpost(struct watchdog *watchdog, const char *category, const char *name, const char *message);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
