/* SPDX-License-Identifier: Apache-2.0 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* What is called everywhere would make the library a tenth larger. */
#define NOT_INLINED __attribute__((noinline))

static const char library_name[] = "libwatchdog/1";

enum {
    protocol_version = 1,
    /* The longest datagram of either protocol; a longer one is rejected as a whole. */
    datagram_bytes_max = 4096,
    /* The most datagrams read in one go. */
    read_max = 64,
    /* The digits of the greatest number, and a NUL. */
    number_bytes = 21
};

static const uint64_t nanoseconds_per_second = 1000000000;
static const uint64_t nanoseconds_per_millisecond = 1000000;
static const uint64_t nanoseconds_per_microsecond = 1000;
/* The time until the next attempt to send. */
static const uint64_t retry_nanoseconds = 100000000;
/* More time than matters, and far from any overflow. */
static const uint64_t background_nanoseconds_max = 1000000000000000000;

/* MARK: Parts */

/* Admits a burst, then a rate. */
struct bucket {
    uint64_t capacity;
    uint64_t nanoseconds_per_token;
    uint64_t full_at;
};

static bool bucket_admit(struct bucket *bucket, uint64_t now)
{
    if (bucket->full_at > now + (bucket->capacity - 1) * bucket->nanoseconds_per_token) return false;
    bucket->full_at = (bucket->full_at > now ? bucket->full_at : now) + bucket->nanoseconds_per_token;
    return true;
}

/* Numbers that the app handles and answers in order, although it may finish them in another. */
struct obligations {
    uint64_t last;
    /* The last one that is done, and all before it. */
    uint64_t answer;
    uint64_t open[WATCHDOG_LATER_MAX];
    bool is_done[WATCHDOG_LATER_MAX];
    size_t count;
};

static void obligations_drop_first(struct obligations *all)
{
    all->answer = all->open[0];
    all->count--;
    memmove(all->open, all->open + 1, all->count * sizeof all->open[0]);
    memmove(all->is_done, all->is_done + 1, all->count * sizeof all->is_done[0]);
}

static void obligations_add(struct obligations *all, uint64_t id)
{
    if (all->count == WATCHDOG_LATER_MAX) obligations_drop_first(all);
    all->last = id;
    all->open[all->count] = id;
    all->is_done[all->count] = false;
    all->count++;
}

/* False when there is nothing new to answer. */
static bool obligations_done(struct obligations *all, uint64_t id)
{
    uint64_t before = all->answer;
    for (size_t index = 0; index < all->count; index++) {
        if (all->open[index] == id) all->is_done[index] = true;
    }
    while (all->count > 0 && all->is_done[0]) obligations_drop_first(all);
    return all->answer != before;
}

/* How far a task is, and what of it was sent. */
enum stage {
    stage_free = 0,
    stage_begun,
    /* Its beginning is in the datagram that is being sent. */
    stage_begin_sending,
    stage_open,
    stage_ended,
    stage_end_sending,
    /* Everything was sent; the name cannot be used again. */
    stage_over
};

struct task {
    enum stage stage;
    uint64_t id;
    char name[WATCHDOG_TASK_NAME_BYTES_MAX + 1];
};

struct launch_task {
    enum stage stage;
    bool has_ended;
    bool is_begin_told;
    char name[WATCHDOG_NAME_BYTES_MAX + 1];
};

/* The most signposts that wait to be sent; more are dropped and counted. */
enum { signposts_max = 32, signpost_message_bytes_max = 256 };

struct signpost {
    const char *phase;
    uint64_t id, nanoseconds;
    bool is_on_main_loop;
    char category[WATCHDOG_NAME_BYTES_MAX + 1], name[WATCHDOG_NAME_BYTES_MAX + 1];
    char message[signpost_message_bytes_max + 1];
};

/* What still has to be sent, apart from tasks and signposts; later messages replace earlier ones. */
struct outbox {
    bool has_hello, is_ready, has_pong, has_status, has_extension, has_summary, is_stopping, is_first_frame, is_useful;
    uint64_t pong;
    /* The thread that answers, if it is not the first one. */
    uint64_t thread;
    uint64_t extension_microseconds;
    /* 0 for none. */
    uint64_t state_done, event_done;
    /* The newest event without a callback; 0 for none. */
    uint64_t event_lost;
    char status[WATCHDOG_STATUS_BYTES_MAX + 1];
    char progress[WATCHDOG_PROGRESS_BYTES_MAX + 1];
    char summary[WATCHDOG_SUMMARY_BYTES_MAX + 1];
};

enum transport { transport_none, transport_channel, transport_notify };

struct watchdog {
    pthread_mutex_t mutex;
    pid_t process;

    /* Under the mutex. */
    enum transport transport;
    struct outbox outbox;
    struct task tasks[WATCHDOG_TASKS_MAX];
    struct launch_task launch_tasks[WATCHDOG_LAUNCH_TASKS_MAX];
    struct signpost signposts[signposts_max];
    /* Those that wait, and those of them that are in the datagram that is being sent. */
    size_t signpost_count, signposts_sending;
    uint64_t signposts_lost, last_signpost;
    /* The thread that has called watchdog_service(); 0 before. */
    pid_t loop_thread;
    uint64_t last_task;
    bool is_launched;
    /* Keeps a talkative app from crowding out its own answers. */
    struct bucket chatter;
    /* The same for what apps say more often. */
    struct bucket marks;
    /* Times of CLOCK_MONOTONIC; 0 for never. */
    uint64_t retry_at, push_at, background_until;
    bool is_loss_untold;
    struct obligations states, events;
    int state;

    /* Constant after watchdog_attach(). */
    int descriptor;
    bool has_lifecycle;
    /* The supervisor may have the main loop block, to test the app. */
    bool allows_faults;
    uint64_t push_nanoseconds;
    struct sockaddr_un address;
    socklen_t address_length;
    bool has_launch_event;
    char launch_event[WATCHDOG_NAME_BYTES_MAX + 1];

    /* Of the main loop's thread. */
    bool is_terminating;
    bool is_detached;
    unsigned service_depth;
    void (*on_terminate)(struct watchdog *, void *);
    int (*on_state)(struct watchdog *, int, uint64_t, void *);
    void (*on_background_time)(struct watchdog *, int64_t, void *);
    void (*on_expire)(struct watchdog *, void *);
    int (*on_event)(struct watchdog *, const char *, const char *, uint64_t, void *);
    /* Of the event whose callback runs. */
    const char *event_sender;
    void (*on_disconnected)(struct watchdog *, void *);
    void (*on_wake)(void *);
    void *terminate_context, *state_context, *background_time_context, *expire_context, *event_context,
        *disconnected_context, *wake_context;
};

static atomic_flag is_attached = ATOMIC_FLAG_INIT;

/* False in a forked child, whose copy of the channel is not its own and whose mutex nobody may ever unlock. */
static NOT_INLINED bool is_usable(const struct watchdog *watchdog) { return watchdog && watchdog->process == getpid(); }

static uint64_t now_nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * nanoseconds_per_second + (uint64_t)time.tv_nsec;
}

/* MARK: Text and numbers */

/* The length of the character at the beginning; of what is none, the bytes to replace, negative. */
static int character_length(const unsigned char *bytes, size_t count)
{
    unsigned char first = bytes[0], low = 0x80, high = 0xBF;
    int length;
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return -1;
    length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    /* No overlong forms, no surrogates, nothing above U+10FFFF. */
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    for (int index = 1; index < length; index++) {
        if ((size_t)index >= count || bytes[index] < low || bytes[index] > high) return -index;
        low = 0x80;
        high = 0xBF;
    }
    return length;
}

/* Makes text one line of at most `limit` bytes, which has room for a NUL besides. */
static void copy_text(char *target, size_t limit, const char *text, size_t count)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    size_t used = 0;
    while (count > 0) {
        int length = character_length((const unsigned char *)text, count);
        const char *source = length < 0 ? replacement : *text == '\n' || *text == '\r' ? " " : text;
        size_t added = length < 0 ? sizeof replacement - 1 : (size_t)length;
        size_t taken = (size_t)abs(length);
        if (used + added > limit) break;
        memcpy(target + used, source, added);
        used += added;
        text += taken;
        count -= taken;
    }
    target[used] = 0;
}

/* The same for the app's texts. A character that straddles the limit is not mistaken for a broken one. */
static void copy_string(char *target, size_t limit, const char *text)
{
    copy_text(target, limit, text ? text : "", text ? strnlen(text, limit + 4) : 0);
}

/* Digits only, at most `most`; false when there is anything else. */
static NOT_INLINED bool parse_number(const char *text, size_t count, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;
    if (count == 0) return false;
    for (size_t index = 0; index < count; index++) {
        if (text[index] < '0' || text[index] > '9') return false;
        uint64_t digit = (uint64_t)(text[index] - '0');
        if (value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static bool parse_string(const char *text, uint64_t most, uint64_t *number)
{
    return text && parse_number(text, strlen(text), most, number);
}

/* MARK: Decoding */

struct message {
    bool has_ping, has_state, has_background_time, is_expiring, is_terminating, has_event;
    uint64_t ping, state_id, event_id, background_microseconds, hang_microseconds;
    int state;
    char kind[WATCHDOG_NAME_BYTES_MAX + 1];
    char sender[WATCHDOG_NAME_BYTES_MAX + 1];
    char payload[WATCHDOG_PAYLOAD_BYTES_MAX + 1];
};

enum key { key_ping, key_state, key_state_id, key_background, key_expire, key_terminate, key_event, key_event_id,
    key_payload, key_sender, key_hang, key_count };

static bool is_text(const char *text, size_t count, const char *expected)
{
    return count == strlen(expected) && memcmp(text, expected, count) == 0;
}

static enum key find_key(const char *text, size_t count)
{
    static const char *const names[key_count] = {"PING", "STATE", "STATE_ID", "BACKGROUND_USEC", "EXPIRE", "TERMINATE",
        "EVENT", "EVENT_ID", "PAYLOAD", "EVENT_FROM", "HANG_USEC"};
    int key = 0;
    while (key < key_count && !is_text(text, count, names[key])) key++;
    return (enum key)key;
}

static void take_field(struct message *message, enum key key, const char *value, size_t count)
{
    switch (key) {
    case key_ping: message->has_ping = parse_number(value, count, UINT64_MAX, &message->ping); break;
    case key_state:
        if (is_text(value, count, "foreground")) message->state = WATCHDOG_FOREGROUND;
        if (is_text(value, count, "background")) message->state = WATCHDOG_BACKGROUND;
        break;
    case key_state_id: parse_number(value, count, UINT64_MAX, &message->state_id); break;
    case key_background:
        message->has_background_time = parse_number(value, count, INT64_MAX, &message->background_microseconds)
            && message->background_microseconds > 0;
        break;
    case key_expire: message->is_expiring = is_text(value, count, "1"); break;
    case key_terminate: message->is_terminating = is_text(value, count, "1"); break;
    case key_event:
        message->has_event = true;
        copy_text(message->kind, WATCHDOG_NAME_BYTES_MAX, value, count);
        break;
    case key_event_id: parse_number(value, count, UINT64_MAX, &message->event_id); break;
    case key_payload: copy_text(message->payload, WATCHDOG_PAYLOAD_BYTES_MAX, value, count); break;
    case key_sender: copy_text(message->sender, WATCHDOG_NAME_BYTES_MAX, value, count); break;
    case key_hang: parse_number(value, count, INT64_MAX, &message->hang_microseconds); break;
    case key_count: break;
    }
}

/*
 * Decodes a datagram; never fails, and drops what cannot be used. Lines end at LF or CR. One trailing NUL is allowed; a
 * NUL elsewhere, or a datagram that is too long, invalidates all of it. The first assignment of each key counts, even
 * an unusable one.
 */
static void decode(struct message *message, const char *bytes, size_t count)
{
    bool is_taken[key_count] = {false};
    const char *end;
    memset(message, 0, offsetof(struct message, kind));
    message->kind[0] = message->sender[0] = message->payload[0] = 0;
    if (count > 0 && bytes[count - 1] == 0) count--;
    if (count > datagram_bytes_max || memchr(bytes, 0, count)) return;
    end = bytes + count;
    while (bytes < end) {
        const char *line = bytes, *equals;
        while (bytes < end && *bytes != '\n' && *bytes != '\r') bytes++;
        equals = memchr(line, '=', (size_t)(bytes - line));
        if (equals) {
            enum key key = find_key(line, (size_t)(equals - line));
            if (key != key_count && !is_taken[key]) {
                is_taken[key] = true;
                take_field(message, key, equals + 1, (size_t)(bytes - equals - 1));
            }
        }
        bytes++;
    }
    /* Neither counts without its number, from 1. */
    message->has_state = message->state != 0 && message->state_id != 0;
    message->has_event = message->has_event && message->event_id != 0;
}

/* MARK: Encoding */

struct writer {
    size_t count;
    char bytes[datagram_bytes_max];
};

/* False when there is no room for the line. */
static bool write_line(struct writer *writer, const char *key, const char *value, const char *more)
{
    const char *parts[] = {key, "=", value, more, "\n"};
    size_t length = 0;
    for (size_t index = 0; index < sizeof parts / sizeof parts[0]; index++) length += strlen(parts[index]);
    if (writer->count + length > sizeof writer->bytes) return false;
    for (size_t index = 0; index < sizeof parts / sizeof parts[0]; index++) {
        size_t part = strlen(parts[index]);
        memcpy(writer->bytes + writer->count, parts[index], part);
        writer->count += part;
    }
    return true;
}

static NOT_INLINED void format_number(char text[number_bytes], uint64_t number)
{
    char digits[number_bytes];
    size_t first = sizeof digits - 1;
    digits[first] = 0;
    do digits[--first] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(text, digits + first, sizeof digits - first);
}

static bool write_number(struct writer *writer, const char *key, uint64_t number)
{
    char text[number_bytes];
    format_number(text, number);
    return write_line(writer, key, text, "");
}

/* Whether there was room for all. */
static bool write_signposts(struct watchdog *self, struct writer *writer)
{
    for (size_t index = 0; index < self->signpost_count; index++) {
        const struct signpost *signpost = &self->signposts[index];
        char line[2 * number_bytes + 4 * WATCHDOG_NAME_BYTES_MAX + signpost_message_bytes_max];
        char id[number_bytes], time[number_bytes];
        format_number(id, signpost->id);
        format_number(time, signpost->nanoseconds);
        snprintf(line, sizeof line, "%s %s %s %s %s\t%s%s%s", signpost->phase, id, time,
            signpost->is_on_main_loop ? "main" : "other", signpost->category, signpost->name,
            signpost->message[0] ? "\t" : "", signpost->message);
        if (!write_line(writer, "SIGNPOST", line, "")) return false;
        self->signposts_sending = index + 1;
    }
    return true;
}

/*
 * Writes tasks while there is room, and the completed state once all tasks begun before it are written. What is left of
 * one list delays all that follow: no end may overtake its beginning, and an app that has begun a task must not look
 * idle in the background.
 *
 * Returns whether the state has been written.
 */
static bool write_lists(struct watchdog *self, struct writer *writer)
{
    uint64_t state_done = self->outbox.state_done;
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX; index++) {
        struct task *task = &self->tasks[index];
        char value[number_bytes + 1];
        if (task->stage != stage_begun) continue;
        format_number(value, task->id);
        strcat(value, " ");
        if (!write_line(writer, "BEGIN_TASK", value, task->name)) return false;
        task->stage = stage_begin_sending;
    }
    if (state_done && !write_number(writer, "STATE_DONE", state_done)) return false;
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX; index++) {
        struct task *task = &self->tasks[index];
        if (task->stage != stage_ended) continue;
        if (!write_number(writer, "END_TASK", task->id)) return true;
        task->stage = stage_end_sending;
    }
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX; index++) {
        struct launch_task *task = &self->launch_tasks[index];
        if (task->stage != stage_begun) continue;
        if (!write_line(writer, "BEGIN_LAUNCH_TASK", task->name, "")) return true;
        task->stage = stage_begin_sending;
    }
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX; index++) {
        struct launch_task *task = &self->launch_tasks[index];
        bool ends = task->has_ended && (task->stage == stage_begin_sending || task->stage == stage_ended);
        if (!ends) continue;
        if (!write_line(writer, "END_LAUNCH_TASK", task->name, "")) return true;
        task->stage = stage_end_sending;
    }
    write_signposts(self, writer);
    return true;
}

/*
 * Returns whether the completed state was written. Everything but the lists fits: it takes less than half a datagram.
 */
static bool encode(struct watchdog *self, struct writer *writer)
{
    const struct outbox *outbox = &self->outbox;
    bool is_channel = self->transport == transport_channel;
    writer->count = 0;
    if (outbox->has_hello) {
        write_number(writer, "HELLO", protocol_version);
        write_number(writer, "PID", (uint64_t)self->process);
        write_line(writer, "LIBRARY", library_name, "");
        if (self->has_lifecycle) write_line(writer, "LIFECYCLE", "1", "");
        if (self->allows_faults) write_line(writer, "FAULTS", "1", "");
    }
    if (outbox->is_ready) write_line(writer, "READY", "1", "");
    if (outbox->has_pong) {
        write_number(writer, "PONG", outbox->pong);
        if (outbox->thread) write_number(writer, "THREAD", outbox->thread);
    }
    if (outbox->has_status) write_line(writer, "STATUS", outbox->status, "");
    if (outbox->has_extension) {
        write_number(writer, "EXTEND_TIMEOUT_USEC", outbox->extension_microseconds);
        write_line(writer, "PROGRESS", outbox->progress, "");
    }
    if (outbox->is_stopping) write_line(writer, "STOPPING", "1", "");
    if (!is_channel) return true;
    if (outbox->has_summary) write_line(writer, "SUMMARY", outbox->summary, "");
    if (outbox->event_lost) write_number(writer, "EVENT_LOST", outbox->event_lost);
    if (outbox->event_done) write_number(writer, "EVENT_DONE", outbox->event_done);
    if (outbox->is_first_frame) write_line(writer, "FIRST_FRAME", "1", "");
    if (outbox->is_useful) write_line(writer, "USEFUL", "1", "");
    if (self->signposts_lost) write_number(writer, "SIGNPOSTS_LOST", self->signposts_lost);
    return write_lists(self, writer);
}

/* MARK: Outbox. All of this under the mutex. */

static bool outbox_is_urgent(const struct outbox *outbox)
{
    return outbox->has_hello || outbox->is_ready || outbox->has_pong || outbox->is_stopping || outbox->state_done
        || outbox->event_done || outbox->is_first_frame || outbox->is_useful;
}

/* Whether it has a message of which only the latest counts. */
static bool outbox_has_words(const struct outbox *outbox)
{
    return outbox->has_status || outbox->has_summary || outbox->has_extension;
}

/* What is in the tasks; a launch task may have ended before its beginning was sent. */
static bool has_marks(const struct watchdog *self)
{
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX; index++) {
        enum stage stage = self->tasks[index].stage;
        if (stage == stage_begun || stage == stage_ended) return true;
    }
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX; index++) {
        enum stage stage = self->launch_tasks[index].stage;
        if (stage == stage_begun || stage == stage_ended) return true;
    }
    return self->signpost_count > 0 || self->signposts_lost > 0;
}

static void outbox_clear(struct outbox *outbox) { memset(outbox, 0, offsetof(struct outbox, status)); }

/* Nobody will receive tasks. */
static void forget_marks(struct watchdog *self)
{
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX; index++) self->tasks[index].stage = stage_free;
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX; index++) {
        struct launch_task *task = &self->launch_tasks[index];
        if (task->stage != stage_free) task->stage = task->has_ended ? stage_over : stage_open;
    }
    self->signpost_count = self->signposts_lost = 0;
}

/* After an attempt: what was being sent was sent, or must be sent again. */
static void settle_marks(struct watchdog *self, bool is_sent)
{
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX; index++) {
        struct task *task = &self->tasks[index];
        if (task->stage == stage_begin_sending) task->stage = is_sent ? stage_open : stage_begun;
        if (task->stage == stage_end_sending) task->stage = is_sent ? stage_free : stage_ended;
    }
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX; index++) {
        struct launch_task *task = &self->launch_tasks[index];
        if (task->stage != stage_begin_sending && task->stage != stage_end_sending) continue;
        if (is_sent) {
            task->stage = task->stage == stage_end_sending ? stage_over : task->has_ended ? stage_ended : stage_open;
            task->is_begin_told = true;
        } else {
            task->stage = task->is_begin_told ? stage_ended : stage_begun;
        }
    }
    if (is_sent) {
        self->signpost_count -= self->signposts_sending;
        memmove(self->signposts, self->signposts + self->signposts_sending,
            self->signpost_count * sizeof self->signposts[0]);
        self->signposts_lost = 0;
    }
    self->signposts_sending = 0;
}

static void disconnect(struct watchdog *self)
{
    self->transport = transport_none;
    outbox_clear(&self->outbox);
    forget_marks(self);
    self->retry_at = self->push_at = self->background_until = 0;
    self->is_loss_untold = true;
}

enum outcome {
    outcome_sent,
    /* The receiver's queue is full. */
    outcome_full,
    /* The receiver is gone, or for a notify socket: not there now. */
    outcome_failed
};

static enum outcome send_bytes(const struct watchdog *self, const char *bytes, size_t count)
{
    const struct sockaddr *address = NULL;
    /* An empty datagram reads as the end of the conversation. */
    if (count == 0) return outcome_sent;
    if (self->transport == transport_notify) address = (const struct sockaddr *)&self->address;
    for (;;) {
        ssize_t sent = sendto(self->descriptor, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL, address,
            address ? self->address_length : 0);
        if (sent >= 0) return outcome_sent;
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? outcome_full : outcome_failed;
    }
}

/* False for a moment after many messages. */
static bool may_talk(struct watchdog *self, uint64_t now)
{
    if (outbox_is_urgent(&self->outbox)) return true;
    /* Those that had to wait go together, whatever has come in the meantime. */
    if (self->retry_at) return self->retry_at <= now;
    return bucket_admit(outbox_has_words(&self->outbox) ? &self->chatter : &self->marks, now);
}

static bool has_something_to_say(const struct watchdog *self)
{
    return outbox_is_urgent(&self->outbox) || outbox_has_words(&self->outbox) || has_marks(self);
}

/* Sends everything, however much was sent before, or keeps it and sets the time of the next attempt. */
static void send_all(struct watchdog *self, uint64_t now)
{
    struct writer writer;
    self->retry_at = 0;
    while (has_something_to_say(self)) {
        bool is_state_done_written = encode(self, &writer);
        enum outcome outcome = send_bytes(self, writer.bytes, writer.count);
        settle_marks(self, outcome == outcome_sent);
        if (outcome == outcome_sent) {
            uint64_t state_done = is_state_done_written ? 0 : self->outbox.state_done;
            outbox_clear(&self->outbox);
            self->outbox.state_done = state_done;
        } else if (outcome == outcome_full) {
            self->retry_at = now + retry_nanoseconds;
            return;
        } else {
            if (self->transport == transport_channel) disconnect(self);
            /*
             * A supervisor that restarts may bind the address again; the next word or sign of life carries this along.
             */
            return;
        }
    }
}

static void flush(struct watchdog *self, uint64_t now)
{
    if (self->transport != transport_channel) forget_marks(self);
    if (self->transport == transport_none) outbox_clear(&self->outbox);
    if (!has_something_to_say(self)) return;
    if (may_talk(self, now)) {
        send_all(self, now);
    } else if (!self->retry_at) {
        self->retry_at = now + retry_nanoseconds;
    }
}

static void push(struct watchdog *self, uint64_t now)
{
    static const char alive[] = "WATCHDOG=1\n";
    if (!self->push_at || self->push_at > now) return;
    enum outcome outcome = send_bytes(self, alive, sizeof alive - 1);
    self->push_at = now + (outcome == outcome_full ? retry_nanoseconds : self->push_nanoseconds);
    if (outcome == outcome_sent) flush(self, now);
}

/* MARK: Saying */

static void lock(struct watchdog *self) { pthread_mutex_lock(&self->mutex); }

static void unlock(struct watchdog *self) { pthread_mutex_unlock(&self->mutex); }

/* Sends the outbox, and releases the mutex. */
static void say(struct watchdog *self)
{
    bool was_waiting = self->retry_at != 0, is_waiting;
    flush(self, now_nanoseconds());
    is_waiting = self->retry_at != 0;
    unlock(self);
    if (is_waiting && !was_waiting && self->on_wake) self->on_wake(self->wake_context);
}

static void say_flag(struct watchdog *watchdog, size_t offset)
{
    if (!is_usable(watchdog)) return;
    lock(watchdog);
    *(bool *)((char *)&watchdog->outbox + offset) = true;
    say(watchdog);
}

void watchdog_ready(struct watchdog *watchdog)
{
    if (!is_usable(watchdog)) return;
    lock(watchdog);
    watchdog->is_launched = true;
    watchdog->outbox.is_ready = true;
    say(watchdog);
}

void watchdog_first_frame(struct watchdog *watchdog) { say_flag(watchdog, offsetof(struct outbox, is_first_frame)); }

void watchdog_useful(struct watchdog *watchdog) { say_flag(watchdog, offsetof(struct outbox, is_useful)); }

void watchdog_stopping(struct watchdog *watchdog) { say_flag(watchdog, offsetof(struct outbox, is_stopping)); }

void watchdog_status(struct watchdog *watchdog, const char *text)
{
    if (!is_usable(watchdog)) return;
    lock(watchdog);
    watchdog->outbox.has_status = true;
    copy_string(watchdog->outbox.status, WATCHDOG_STATUS_BYTES_MAX, text);
    say(watchdog);
}

void watchdog_summary(struct watchdog *watchdog, const char *text)
{
    if (!is_usable(watchdog)) return;
    lock(watchdog);
    watchdog->outbox.has_summary = true;
    copy_string(watchdog->outbox.summary, WATCHDOG_SUMMARY_BYTES_MAX, text);
    say(watchdog);
}

void watchdog_extend(struct watchdog *watchdog, uint64_t microseconds, const char *progress)
{
    if (!is_usable(watchdog)) return;
    if (microseconds == 0) microseconds = 1;
    if (microseconds > INT64_MAX) microseconds = INT64_MAX;
    lock(watchdog);
    watchdog->outbox.has_extension = true;
    watchdog->outbox.extension_microseconds = microseconds;
    copy_string(watchdog->outbox.progress, WATCHDOG_PROGRESS_BYTES_MAX, progress);
    say(watchdog);
}

/* MARK: Tasks */

uint64_t watchdog_begin_task(struct watchdog *watchdog, const char *name)
{
    struct task *task = NULL;
    uint64_t id = 0;
    /* Without a supervisor, any number will do. */
    if (!is_usable(watchdog)) return 1;
    lock(watchdog);
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX && !task; index++) {
        if (watchdog->tasks[index].stage == stage_free) task = &watchdog->tasks[index];
    }
    if (task) {
        id = task->id = ++watchdog->last_task;
        task->stage = stage_begun;
        copy_string(task->name, WATCHDOG_TASK_NAME_BYTES_MAX, name);
    }
    say(watchdog);
    return id;
}

void watchdog_end_task(struct watchdog *watchdog, uint64_t id)
{
    if (!is_usable(watchdog) || id == 0) return;
    lock(watchdog);
    for (size_t index = 0; index < WATCHDOG_TASKS_MAX; index++) {
        struct task *task = &watchdog->tasks[index];
        if (task->id != id) continue;
        /* One whose beginning has not been sent is not mentioned at all. */
        if (task->stage == stage_begun) task->stage = stage_free;
        if (task->stage == stage_open) task->stage = stage_ended;
    }
    say(watchdog);
}

int watchdog_begin_launch_task(struct watchdog *watchdog, const char *name)
{
    char cut[WATCHDOG_NAME_BYTES_MAX + 1];
    struct launch_task *task = NULL;
    bool is_other_open = false;
    int error = 0;
    if (!is_usable(watchdog)) return 0;
    copy_string(cut, WATCHDOG_NAME_BYTES_MAX, name);
    lock(watchdog);
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX && !task; index++) {
        struct launch_task *other = &watchdog->launch_tasks[index];
        if (other->stage == stage_free) {
            task = other;
        } else {
            is_other_open = is_other_open || !other->has_ended;
            if (strcmp(other->name, cut) == 0) error = EEXIST;
        }
    }
    if (watchdog->is_launched && !is_other_open) {
        error = ETIME;
    } else if (!task && !error) {
        error = ENOSPC;
    }
    if (error) {
        unlock(watchdog);
        return error;
    }
    task->stage = stage_begun;
    memcpy(task->name, cut, sizeof cut);
    say(watchdog);
    return 0;
}

int watchdog_end_launch_task(struct watchdog *watchdog, const char *name)
{
    char cut[WATCHDOG_NAME_BYTES_MAX + 1];
    int error = ENOENT;
    if (!is_usable(watchdog)) return 0;
    copy_string(cut, WATCHDOG_NAME_BYTES_MAX, name);
    lock(watchdog);
    for (size_t index = 0; index < WATCHDOG_LAUNCH_TASKS_MAX && error; index++) {
        struct launch_task *task = &watchdog->launch_tasks[index];
        if (task->stage == stage_free || task->has_ended || strcmp(task->name, cut) != 0) continue;
        task->has_ended = true;
        if (task->stage == stage_open) task->stage = stage_ended;
        error = 0;
    }
    say(watchdog);
    return error;
}

/* MARK: Signposts */

static void copy_part(char *target, size_t limit, const char *text)
{
    copy_string(target, limit, text);
    /* A tab ends a part. */
    for (char *tab = target; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
}

static uint64_t mark(
    struct watchdog *watchdog, const char *phase, uint64_t id, const char *category, const char *name,
    const char *message)
{
    pid_t thread;
    if (!is_usable(watchdog)) return 0;
    thread = (pid_t)syscall(SYS_gettid);
    lock(watchdog);
    if (id == 0) id = ++watchdog->last_signpost;
    if (watchdog->transport != transport_channel || watchdog->signpost_count == signposts_max) {
        if (watchdog->transport == transport_channel) watchdog->signposts_lost++;
    } else {
        struct signpost *signpost = &watchdog->signposts[watchdog->signpost_count++];
        signpost->phase = phase;
        signpost->id = id;
        signpost->nanoseconds = now_nanoseconds();
        signpost->is_on_main_loop = thread == (watchdog->loop_thread ? watchdog->loop_thread : watchdog->process);
        copy_part(signpost->category, WATCHDOG_NAME_BYTES_MAX, category);
        copy_part(signpost->name, WATCHDOG_NAME_BYTES_MAX, name);
        copy_part(signpost->message, signpost_message_bytes_max, message);
    }
    say(watchdog);
    return id;
}

uint64_t watchdog_begin_signpost(struct watchdog *watchdog, const char *category, const char *name)
{
    return mark(watchdog, "begin", 0, category, name, NULL);
}

void watchdog_end_signpost(struct watchdog *watchdog, uint64_t id, const char *category, const char *name)
{
    if (id) mark(watchdog, "end", id, category, name, NULL);
}

void watchdog_signpost(struct watchdog *watchdog, const char *category, const char *name, const char *message)
{
    mark(watchdog, "event", 0, category, name, message);
}

/* MARK: Attaching */

static int socket_option(int descriptor, int name)
{
    int value = -1;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

/* Anything but a connected AF_UNIX SOCK_SEQPACKET socket belongs to somebody else and is left alone. */
static bool take_channel(struct watchdog *self, const char *text)
{
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    uint64_t number;
    if (!parse_string(text, INT_MAX, &number)) return false;
    int descriptor = (int)number;
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) != 0
        || socket_option(descriptor, SO_DOMAIN) != AF_UNIX || socket_option(descriptor, SO_TYPE) != SOCK_SEQPACKET
        || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
        return false;
    self->descriptor = descriptor;
    self->transport = transport_channel;
    self->outbox.has_hello = true;
    return true;
}

/* An absolute path, or `@` and a name in the abstract namespace. */
static bool take_notify_socket(struct watchdog *self, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length < 2 || (text[0] != '/' && text[0] != '@')) return false;
    /* A path ends at NUL, a name does not. */
    if (length + (text[0] == '/') > sizeof self->address.sun_path) return false;
    self->address.sun_family = AF_UNIX;
    memcpy(self->address.sun_path, text, length);
    if (text[0] == '@') self->address.sun_path[0] = 0;
    self->address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (text[0] == '/'));
    self->descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (self->descriptor < 0) return false;
    self->transport = transport_notify;
    return true;
}

/* Half of the allowance, as sd_watchdog_enabled(3) recommends; 0 when it is not meant for this process. */
static uint64_t push_interval(const char *allowance, const char *process)
{
    uint64_t microseconds, number;
    if (!parse_string(allowance, INT64_MAX / (nanoseconds_per_microsecond / 2), &microseconds)) return 0;
    if (process && (!parse_string(process, INT_MAX, &number) || number != (uint64_t)getpid())) return 0;
    return microseconds * (nanoseconds_per_microsecond / 2);
}

/* Reads the environment, and takes the channel and what belongs to it out of it. */
static void take_environment(struct watchdog *self, uint64_t now)
{
    const char *state = getenv("WATCHDOG_STATE"), *event = getenv("WATCHDOG_EVENT"), *faults = getenv("WATCHDOG_FAULTS");
    if (take_channel(self, getenv("WATCHDOG_CHANNEL"))) {
        self->allows_faults = faults && strcmp(faults, "1") == 0;
        if (state && strcmp(state, "background") == 0) self->state = WATCHDOG_BACKGROUND;
        if (event) {
            self->has_launch_event = true;
            copy_string(self->launch_event, WATCHDOG_NAME_BYTES_MAX, event);
        }
    } else if (take_notify_socket(self, getenv("NOTIFY_SOCKET"))) {
        self->push_nanoseconds = push_interval(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
        if (self->push_nanoseconds) self->push_at = now;
    }
    unsetenv("WATCHDOG_CHANNEL");
    unsetenv("WATCHDOG_STATE");
    unsetenv("WATCHDOG_EVENT");
    unsetenv("WATCHDOG_FAULTS");
}

struct watchdog *watchdog_attach(unsigned flags)
{
    struct watchdog *self;
    uint64_t now = now_nanoseconds();
    if (atomic_flag_test_and_set(&is_attached)) {
        errno = EALREADY;
        return NULL;
    }
    self = calloc(1, sizeof *self);
    if (!self) {
        atomic_flag_clear(&is_attached);
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_init(&self->mutex, NULL);
    self->process = getpid();
    self->descriptor = -1;
    self->has_lifecycle = (flags & WATCHDOG_LIFECYCLE) != 0;
    self->state = WATCHDOG_FOREGROUND;
    self->chatter = (struct bucket){.capacity = 20, .nanoseconds_per_token = nanoseconds_per_second / 10};
    self->marks = (struct bucket){.capacity = 100, .nanoseconds_per_token = nanoseconds_per_second / 50};
    take_environment(self, now);
    flush(self, now);
    return self;
}

static void release(struct watchdog *self)
{
    if (is_usable(self)) {
        if (self->transport != transport_none && has_something_to_say(self)) send_all(self, now_nanoseconds());
        pthread_mutex_destroy(&self->mutex);
    }
    if (self->descriptor >= 0) close(self->descriptor);
    free(self);
    atomic_flag_clear(&is_attached);
}

void watchdog_detach(struct watchdog *watchdog)
{
    if (!watchdog) return;
    /* Within a callback, the handle is needed until watchdog_service() returns. */
    watchdog->is_detached = true;
    if (watchdog->service_depth == 0) release(watchdog);
}

int watchdog_is_supervised(struct watchdog *watchdog)
{
    bool is_supervised;
    if (!is_usable(watchdog)) return 0;
    lock(watchdog);
    is_supervised = watchdog->transport != transport_none;
    unlock(watchdog);
    return is_supervised;
}

/* MARK: Main loop */

int watchdog_descriptor(struct watchdog *watchdog)
{
    int descriptor;
    if (!is_usable(watchdog)) return -1;
    lock(watchdog);
    /* A loss noticed while sending is reported by the next watchdog_service(), not earlier. */
    descriptor = watchdog->transport == transport_channel || watchdog->is_loss_untold ? watchdog->descriptor : -1;
    unlock(watchdog);
    return descriptor;
}

int watchdog_timeout_ms(struct watchdog *watchdog)
{
    uint64_t due, now = now_nanoseconds(), milliseconds;
    bool is_loss_untold;
    if (!is_usable(watchdog)) return -1;
    lock(watchdog);
    due = watchdog->retry_at;
    if (watchdog->push_at && (!due || watchdog->push_at < due)) due = watchdog->push_at;
    is_loss_untold = watchdog->is_loss_untold;
    unlock(watchdog);
    if (is_loss_untold) return 0;
    if (!due) return -1;
    if (due <= now) return 0;
    milliseconds = (due - now + nanoseconds_per_millisecond - 1) / nanoseconds_per_millisecond;
    return milliseconds < INT_MAX ? (int)milliseconds : INT_MAX;
}

/* The thread that answers; 0 for the process's first one. */
static uint64_t answering_thread(const struct watchdog *self)
{
    long thread = syscall(SYS_gettid);
    return thread == self->process ? 0 : (uint64_t)thread;
}

static void heed_state(struct watchdog *self, const struct message *message)
{
    uint64_t id = message->state_id, answered;
    bool is_new, is_change;
    int answer = WATCHDOG_DONE;
    lock(self);
    answered = self->states.answer;
    is_new = id > self->states.last;
    is_change = is_new && message->state != self->state;
    if (is_new) obligations_add(&self->states, id);
    if (is_change) {
        self->state = message->state;
        if (message->state == WATCHDOG_FOREGROUND) self->background_until = 0;
    }
    unlock(self);
    if (is_change && self->on_state) answer = self->on_state(self, message->state, id, self->state_context);
    lock(self);
    if (is_new && answer != WATCHDOG_LATER) obligations_done(&self->states, id);
    if (self->states.answer != answered || answered >= id) self->outbox.state_done = self->states.answer;
    say(self);
}

static void heed_event(struct watchdog *self, const struct message *message)
{
    uint64_t id = message->event_id, answered;
    bool is_new;
    int answer = WATCHDOG_DONE;
    lock(self);
    answered = self->events.answer;
    is_new = id > self->events.last;
    if (is_new) obligations_add(&self->events, id);
    unlock(self);
    if (is_new && self->on_event) {
        /* A callback may call watchdog_service(), and so be interrupted by another one. */
        const char *outer = self->event_sender;
        self->event_sender = message->sender[0] ? message->sender : NULL;
        answer = self->on_event(self, message->kind, message->payload, id, self->event_context);
        self->event_sender = outer;
    }
    lock(self);
    if (is_new && answer != WATCHDOG_LATER) obligations_done(&self->events, id);
    if (is_new && !self->on_event) self->outbox.event_lost = id;
    if (self->events.answer != answered || answered >= id) self->outbox.event_done = self->events.answer;
    say(self);
}

static void heed_background_time(struct watchdog *self, uint64_t microseconds)
{
    uint64_t most = background_nanoseconds_max / nanoseconds_per_microsecond;
    uint64_t within = microseconds < most ? microseconds : most;
    lock(self);
    self->background_until = now_nanoseconds() + within * nanoseconds_per_microsecond;
    unlock(self);
    if (self->on_background_time)
        self->on_background_time(self, (int64_t)microseconds, self->background_time_context);
}

/* A hang at a test's request. The crash log shows this name, so that nobody searches the app for the hang. */
static NOT_INLINED void hang_on_demand(uint64_t microseconds)
{
    /* A year is practically forever, and far from any overflow. */
    uint64_t most = 31536000 * (nanoseconds_per_second / nanoseconds_per_microsecond);
    uint64_t until = now_nanoseconds() + (microseconds < most ? microseconds : most) * nanoseconds_per_microsecond;
    struct timespec end = {
        .tv_sec = (time_t)(until / nanoseconds_per_second), .tv_nsec = (long)(until % nanoseconds_per_second)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
}

/* What is to happen first comes first: how long the background lasts is known when it begins. */
static void heed(struct watchdog *self, const struct message *message)
{
    if (self->has_lifecycle) {
        if (message->has_background_time && !self->is_detached)
            heed_background_time(self, message->background_microseconds);
        if (message->has_state && !self->is_detached) heed_state(self, message);
        if (message->is_expiring && !self->is_detached && self->on_expire) self->on_expire(self, self->expire_context);
        if (message->has_event && !self->is_detached) heed_event(self, message);
    }
    if (message->hang_microseconds && self->allows_faults && !self->is_detached)
        hang_on_demand(message->hang_microseconds);
    if (message->is_terminating && !self->is_detached && !self->is_terminating) {
        self->is_terminating = true;
        if (self->on_terminate) self->on_terminate(self, self->terminate_context);
    }
}

/* Reads and answers one datagram. False when there is none, or nobody to send any. */
static bool receive(struct watchdog *self, struct message *message)
{
    /* One byte more than is allowed, for the trailing NUL; MSG_TRUNC tells a longer one. */
    char bytes[datagram_bytes_max + 1];
    bool is_received = false;
    lock(self);
    while (self->transport == transport_channel && !is_received) {
        ssize_t count = recv(self->descriptor, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC);
        if (count > 0) {
            decode(message, bytes, (size_t)count <= sizeof bytes ? (size_t)count : 0);
            is_received = true;
        } else if (count < 0 && errno == EINTR) {
            continue;
        } else if (count < 0 && errno == EAGAIN) {
            break;
        } else {
            disconnect(self);
        }
    }
    if (is_received && message->has_ping) {
        self->outbox.has_pong = true;
        self->outbox.pong = message->ping;
        self->outbox.thread = answering_thread(self);
        flush(self, now_nanoseconds());
    }
    unlock(self);
    return is_received;
}

int watchdog_service(struct watchdog *watchdog)
{
    struct message message;
    uint64_t now;
    bool is_terminating, is_loss;
    if (!is_usable(watchdog)) return 0;
    watchdog->service_depth++;
    lock(watchdog);
    watchdog->loop_thread = (pid_t)syscall(SYS_gettid);
    unlock(watchdog);
    for (int count = 0; count < read_max && !watchdog->is_detached && receive(watchdog, &message); count++)
        heed(watchdog, &message);
    now = now_nanoseconds();
    lock(watchdog);
    push(watchdog, now);
    if (watchdog->retry_at && watchdog->retry_at <= now) flush(watchdog, now);
    is_loss = watchdog->is_loss_untold && !watchdog->is_detached;
    if (is_loss) watchdog->is_loss_untold = false;
    unlock(watchdog);
    if (is_loss && watchdog->on_disconnected) watchdog->on_disconnected(watchdog, watchdog->disconnected_context);
    is_terminating = watchdog->is_terminating;
    watchdog->service_depth--;
    if (watchdog->is_detached && watchdog->service_depth == 0) release(watchdog);
    return is_terminating;
}

/* MARK: Callbacks and state */

void watchdog_on_wake(struct watchdog *watchdog, void (*callback)(void *context), void *context)
{
    if (!watchdog) return;
    watchdog->on_wake = callback;
    watchdog->wake_context = context;
}

void watchdog_on_terminate(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context)
{
    if (!watchdog) return;
    watchdog->on_terminate = callback;
    watchdog->terminate_context = context;
}

void watchdog_on_state(
    struct watchdog *watchdog, int (*callback)(struct watchdog *watchdog, int state, uint64_t id, void *context),
    void *context)
{
    if (!watchdog) return;
    watchdog->on_state = callback;
    watchdog->state_context = context;
}

void watchdog_on_background_time(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, int64_t microseconds, void *context),
    void *context)
{
    if (!watchdog) return;
    watchdog->on_background_time = callback;
    watchdog->background_time_context = context;
}

void watchdog_on_expire(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context)
{
    if (!watchdog) return;
    watchdog->on_expire = callback;
    watchdog->expire_context = context;
}

void watchdog_on_event(
    struct watchdog *watchdog,
    int (*callback)(struct watchdog *watchdog, const char *kind, const char *payload, uint64_t id, void *context),
    void *context)
{
    if (!watchdog) return;
    watchdog->on_event = callback;
    watchdog->event_context = context;
}

void watchdog_on_disconnected(
    struct watchdog *watchdog, void (*callback)(struct watchdog *watchdog, void *context), void *context)
{
    if (!watchdog) return;
    watchdog->on_disconnected = callback;
    watchdog->disconnected_context = context;
}

void watchdog_state_done(struct watchdog *watchdog, uint64_t id)
{
    if (!is_usable(watchdog)) return;
    lock(watchdog);
    if (obligations_done(&watchdog->states, id)) watchdog->outbox.state_done = watchdog->states.answer;
    say(watchdog);
}

void watchdog_event_done(struct watchdog *watchdog, uint64_t id)
{
    if (!is_usable(watchdog)) return;
    lock(watchdog);
    if (obligations_done(&watchdog->events, id)) watchdog->outbox.event_done = watchdog->events.answer;
    say(watchdog);
}

int watchdog_state(struct watchdog *watchdog)
{
    int state;
    if (!is_usable(watchdog)) return WATCHDOG_FOREGROUND;
    lock(watchdog);
    state = watchdog->state;
    unlock(watchdog);
    return state;
}

const char *watchdog_event_sender(struct watchdog *watchdog) { return watchdog ? watchdog->event_sender : NULL; }

const char *watchdog_launch_event(struct watchdog *watchdog)
{
    return watchdog && watchdog->has_launch_event ? watchdog->launch_event : NULL;
}

int64_t watchdog_background_microseconds(struct watchdog *watchdog)
{
    uint64_t until, now = now_nanoseconds();
    if (!is_usable(watchdog)) return -1;
    lock(watchdog);
    until = watchdog->state == WATCHDOG_BACKGROUND ? watchdog->background_until : 0;
    unlock(watchdog);
    if (!until) return -1;
    return until > now ? (int64_t)((until - now) / nanoseconds_per_microsecond) : 0;
}
