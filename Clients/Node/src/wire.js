// SPDX-License-Identifier: Apache-2.0
// The messages of the channel and of sd_notify: names, limits, decoding and encoding. Nothing here does I/O.

export const PROTOCOL_VERSION = 1;
export const LIBRARY = `watchdogd-node/${PROTOCOL_VERSION}`;

// Bounds of what may travel, in bytes of UTF-8.
export const DATAGRAM_LIMIT_BYTES = 4096;
const STATUS_LIMIT_BYTES = 1024;
const PROGRESS_LIMIT_BYTES = 256;
const SUMMARY_LIMIT_BYTES = 128;
export const NAME_LIMIT_BYTES = 64;
const TASK_NAME_LIMIT_BYTES = 128;
const PAYLOAD_LIMIT_BYTES = 2048;

const LARGEST_NUMBER = 2n ** 64n - 1n;
export const LARGEST_MICROSECONDS = 2n ** 63n - 1n;

const SOCKADDR_PATH_BYTES = 108;

/** A decimal number within bounds as a BigInt: ASCII digits only, undefined for anything else. */
export function number(value, smallest = 0n, largest = LARGEST_NUMBER) {
    if (value.length > DATAGRAM_LIMIT_BYTES || !/^[0-9]+$/.test(value)) return undefined;
    const result = BigInt(value);
    return result >= smallest && result <= largest ? result : undefined;
}

/** The longest prefix within a number of bytes that ends with a whole character. */
export function cut(text, limitBytes) {
    const encoded = Buffer.from(text);
    if (encoded.length <= limitBytes) return encoded.toString();
    let end = limitBytes;
    while (end > 0 && (encoded[end] & 0xc0) === 0x80) end -= 1;
    return encoded.toString('utf8', 0, end);
}

/** The text as a value. Line breaks and NUL would end it or spoil the datagram; they become spaces. */
function fieldText(value, limitBytes) {
    return cut(String(value).replace(/[\n\r\0]/g, ' '), limitBytes);
}

/**
 * The assignments of one datagram from anyone, each key once: the first assignment decides.
 *
 * The rules are those of systemd. Lines end at LF or CR; a NUL at the end is tolerated; a NUL elsewhere, or too many
 * bytes, spoil the whole datagram.
 */
export function fields(datagram) {
    const result = new Map();
    const body = datagram.at(-1) === 0 ? datagram.subarray(0, -1) : datagram;
    if (body.length > DATAGRAM_LIMIT_BYTES || body.includes(0)) return result;
    for (const line of body.toString().split(/[\r\n]/)) {
        const equals = line.indexOf('=');
        if (equals < 1) continue;
        const key = line.slice(0, equals);
        if (!result.has(key)) result.set(key, line.slice(equals + 1));
    }
    return result;
}

/** What one datagram of the supervisor says; what is unusable is left out. */
export function decode(datagram) {
    const said = fields(datagram);
    const numberOf = (key, smallest, largest) => number(said.get(key) ?? '', smallest, largest);
    const message = {
        ping: numberOf('PING'),
        backgroundMicroseconds: numberOf('BACKGROUND_USEC', 1n, LARGEST_MICROSECONDS),
        isExpiring: said.get('EXPIRE') === '1',
        isTerminating: said.get('TERMINATE') === '1',
        hangMicroseconds: numberOf('HANG_USEC', 1n, LARGEST_MICROSECONDS),
        transition: undefined,
        event: undefined,
    };
    const state = said.get('STATE');
    const stateId = numberOf('STATE_ID', 1n);
    if ((state === 'foreground' || state === 'background') && stateId !== undefined) {
        message.transition = { state, id: stateId };
    }
    const eventId = numberOf('EVENT_ID', 1n);
    if (said.has('EVENT') && eventId !== undefined) {
        message.event = {
            kind: cut(said.get('EVENT'), NAME_LIMIT_BYTES),
            id: eventId,
            payload: cut(said.get('PAYLOAD') ?? '', PAYLOAD_LIMIT_BYTES),
            sender: cut(said.get('EVENT_FROM') ?? '', NAME_LIMIT_BYTES) || undefined,
        };
    }
    return message;
}

/** True when the message says something to apps with a lifecycle only. */
export function isForLifecycle(message) {
    return (
        message.transition !== undefined ||
        message.backgroundMicroseconds !== undefined ||
        message.isExpiring ||
        message.event !== undefined
    );
}

/** Builds a datagram of `KEY=VALUE` lines. */
class Writer {
    text = '';
    #bytes = 0;

    flag(key, isSet) {
        if (isSet) this.#line(`${key}=1\n`);
    }

    number(key, value) {
        if (value !== undefined) this.#line(`${key}=${value}\n`);
    }

    string(key, value, limitBytes) {
        if (value !== undefined) this.#line(`${key}=${fieldText(value, limitBytes)}\n`);
    }

    /** Writes one line for each value as long as there is room, and returns how many it wrote. */
    lines(key, values) {
        for (const [index, value] of values.entries()) {
            const line = `${key}=${value}\n`;
            if (this.#bytes + Buffer.byteLength(line) > DATAGRAM_LIMIT_BYTES) return index;
            this.#line(line);
        }
        return values.length;
    }

    #line(line) {
        this.text += line;
        this.#bytes += Buffer.byteLength(line);
    }
}

/** What the app has to say. Of most things only the latest counts; the lists keep everything. */
export class ClientMessage {
    /** Undefined, or whether the app takes part in the lifecycle. */
    hello;
    allowsFaults = false;
    isReady = false;
    pong;
    status;
    extensionMicroseconds;
    progress;
    summary;
    isStopping = false;
    stateDone;
    eventDone;
    /** The numbers of events for which the app has no handler. */
    eventsLost = [];
    isFirstFrame = false;
    isUseful = false;
    /** The sign of life of sd_notify. */
    isAlive = false;
    /** Numbers and names. */
    tasksBegun = [];
    tasksEnded = [];
    launchTasksBegun = [];
    launchTasksEnded = [];

    /** True when it must not be held back because the app talks much. */
    get isUrgent() {
        return (
            this.hello !== undefined ||
            this.isReady ||
            this.pong !== undefined ||
            this.isStopping ||
            this.stateDone !== undefined ||
            this.eventDone !== undefined ||
            this.isFirstFrame ||
            this.isUseful ||
            this.isAlive
        );
    }

    /** True when it says something of which only the latest counts. */
    get hasWords() {
        return [this.status, this.summary, this.extensionMicroseconds].some((word) => word !== undefined);
    }

    get isEmpty() {
        const lists = [this.tasksBegun, this.tasksEnded, this.launchTasksBegun, this.launchTasksEnded];
        return !this.isUrgent && !this.hasWords && lists.every((list) => list.length === 0);
    }

    /** Says that a task has ended; one whose beginning has not been sent is not mentioned at all. */
    endTask(id) {
        const left = this.tasksBegun.filter((task) => task.id !== id);
        if (left.length === this.tasksBegun.length) this.tasksEnded.push(id);
        this.tasksBegun = left;
    }

    /** The datagram to send, and the message of what it had no room for. */
    encode() {
        const writer = new Writer();
        if (this.hello !== undefined) {
            writer.number('HELLO', PROTOCOL_VERSION);
            writer.number('PID', process.pid);
            writer.string('LIBRARY', LIBRARY, NAME_LIMIT_BYTES);
            writer.flag('LIFECYCLE', this.hello);
            writer.flag('FAULTS', this.allowsFaults);
        }
        writer.flag('READY', this.isReady);
        writer.number('PONG', this.pong);
        this.#writeWords(writer);
        writer.string('SUMMARY', this.summary, SUMMARY_LIMIT_BYTES);
        writer.flag('STOPPING', this.isStopping);
        writer.number('EVENT_DONE', this.eventDone);
        writer.flag('FIRST_FRAME', this.isFirstFrame);
        writer.flag('USEFUL', this.isUseful);
        const rest = this.#writeLists(writer);
        return { datagram: Buffer.from(writer.text), rest };
    }

    /** What can be said in sd_notify's words; empty when that is nothing. */
    encodeForNotify() {
        const writer = new Writer();
        writer.flag('READY', this.isReady);
        writer.flag('STOPPING', this.isStopping);
        this.#writeWords(writer);
        writer.flag('WATCHDOG', this.isAlive);
        return { datagram: Buffer.from(writer.text), rest: new ClientMessage() };
    }

    #writeWords(writer) {
        writer.string('STATUS', this.status, STATUS_LIMIT_BYTES);
        writer.number('EXTEND_TIMEOUT_USEC', this.extensionMicroseconds);
        writer.string('PROGRESS', this.progress, PROGRESS_LIMIT_BYTES);
    }

    /**
     * Writes the lists as far as there is room, and the state that is done, and returns what was not written.
     *
     * What is left of one list holds back all that follow: no end may overtake its beginning, and no app may be taken
     * for idle in the background that has begun a task.
     */
    #writeLists(writer) {
        const rest = new ClientMessage();
        let isFull = false;
        const write = (key, items, line) => {
            const count = isFull ? 0 : writer.lines(key, items.map(line));
            isFull ||= count < items.length;
            return items.slice(count);
        };
        const itself = (value) => value;
        const name = (value) => fieldText(value, NAME_LIMIT_BYTES);
        // First: EVENT_DONE is in this datagram, and would make an event that is not named yet a handled one.
        rest.eventsLost = write('EVENT_LOST', this.eventsLost, itself);
        rest.tasksBegun = write(
            'BEGIN_TASK', this.tasksBegun, (task) => `${task.id} ${fieldText(task.name, TASK_NAME_LIMIT_BYTES)}`);
        [rest.stateDone] = write('STATE_DONE', this.stateDone === undefined ? [] : [this.stateDone], itself);
        rest.tasksEnded = write('END_TASK', this.tasksEnded, itself);
        rest.launchTasksBegun = write('BEGIN_LAUNCH_TASK', this.launchTasksBegun, name);
        rest.launchTasksEnded = write('END_LAUNCH_TASK', this.launchTasksEnded, name);
        return rest;
    }
}

/** True for an absolute path, or `@` and an abstract name, as `NOTIFY_SOCKET` may have it; not for `vsock:`. */
export function isNotifyAddress(variable) {
    const bytes = Buffer.byteLength(variable);
    if (bytes < 2) return false;
    if (variable.startsWith('/')) return bytes < SOCKADDR_PATH_BYTES;
    return variable.startsWith('@') && bytes <= SOCKADDR_PATH_BYTES;
}
