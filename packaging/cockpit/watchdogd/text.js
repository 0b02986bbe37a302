// SPDX-License-Identifier: Apache-2.0
// How values are written. Pure functions: the tests run them without a browser.

const MILLISECOND = 1e3;
const SECOND = 1e6;

/** The two largest units of a time in microseconds: "3 d 4 h", "2 h 5 min", "12 s". */
export function roughly(microseconds) {
    let seconds = Math.max(0, Math.floor(microseconds / SECOND));
    const parts = [];
    for (const [unit, length] of [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]]) {
        const count = Math.floor(seconds / length);
        seconds %= length;
        if (count > 0 || parts.length > 0) parts.push(count > 0 ? `${count} ${unit}` : '');
        if (parts.length === 2) break;
    }
    return parts.filter((part) => part !== '').join(' ') || '0 s';
}

/** About three digits of a duration in microseconds: "52 µs", "2.35 ms", "312 ms", "20.00 s", "2 min 5 s". */
export function measured(microseconds) {
    const time = Math.max(0, microseconds);
    if (time < MILLISECOND) return `${Math.floor(time)} µs`;
    if (time < 9995) return `${(time / MILLISECOND).toFixed(2)} ms`;
    if (time < 999500) return `${Math.round(time / MILLISECOND)} ms`;
    if (time < 119.995 * SECOND) return `${(time / SECOND).toFixed(2)} s`;
    return roughly(time);
}

/** A round duration in as few characters as it needs, for axes and limits: "250 ms", "1.5 s", "10 min". */
export function brief(microseconds) {
    const number = (value) => String(Number(value.toFixed(2)));
    if (microseconds === 0) return '0';
    if (microseconds < MILLISECOND) return `${number(microseconds)} µs`;
    if (microseconds < SECOND) return `${number(microseconds / MILLISECOND)} ms`;
    if (microseconds < 60 * SECOND) return `${number(microseconds / SECOND)} s`;
    return roughly(microseconds);
}

/** How long ago a time was; both are microseconds since 1970. */
export function ago(time, now) {
    return now - time < SECOND ? 'now' : `${roughly(now - time)} ago`;
}

/** A number of bytes with a binary unit: "812 B", "4.5 KiB", "120 MiB". */
export function bytes(count) {
    let value = count;
    for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
        if (value < 1023.5) return `${unit === 'B' || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${unit}`;
        value /= 1024;
    }
    return `${value.toFixed(1)} TiB`;
}

/** A share of one CPU: "0.4 %", "12 %", "250 %". */
export function percent(share) {
    const value = share * 100;
    return `${value > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} %`;
}

// What moves, hides or reverses the text around it: control characters, and Unicode's marks of direction.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** A text of the daemon as one line: unseen characters become "\uFFFD", and what is too long is cut. */
export function shown(text, limit = 400) {
    const characters = Array.from(String(text).slice(0, 4 * limit));
    const line = characters.slice(0, limit).join('').replace(UNSEEN, '\ufffd');
    return characters.length > limit ? `${line}…` : line;
}

const STATES = {
    stopped: ['○', 'quiet'], waiting: ['◐', 'warning'], launching: ['◔', 'info'], running: ['●', 'good'],
    terminating: ['◑', 'info'], capturing: ['◉', 'warning'], dying: ['◉', 'warning'], failed: ['✕', 'bad'],
    unkillable: ['✕', 'bad'],
};

const HELD = { stopped: 'stopped by a signal', frozen: 'frozen', traced: 'traced', 'dumping-core': 'dumping core' };

/** What is shown of an app's state: a word, a sign and a tone, so that color is never the only difference. */
export function stateOf({ state, isAnswering, silence }) {
    if (silence !== undefined) {
        const isMild = silence.isInTime === true || silence.reason === 'dumping-core';
        const word = Object.hasOwn(HELD, silence.reason) ? HELD[silence.reason] : 'not answering';
        return { word, sign: '▲', tone: isMild ? 'warning' : 'bad' };
    }
    if (state === 'running' && isAnswering === false) return { word: 'not answering', sign: '▲', tone: 'warning' };
    const [sign, tone] = Object.hasOwn(STATES, state) ? STATES[state] : ['?', 'quiet'];
    return { word: shown(state, 40), sign, tone };
}

/** What an app owes that does not answer: "2 of 3 probes failed"; undefined where the state says it all. */
export function owed({ silence }) {
    if (silence?.reason === 'ping') return 'no answer to a ping';
    if (silence?.reason === 'push') return 'no WATCHDOG=1';
    if (silence?.reason !== 'probes') return undefined;
    const { failedProbes: failed, neededProbes: needed } = silence;
    return failed < needed ? `${failed} of ${needed} probes failed` : `${failed} ${failed === 1 ? 'probe' : 'probes'} failed`;
}

/** When an app began to be as it is shown. */
export const sinceOf = ({ sinceUSec, silence }) => silence?.sinceUSec ?? sinceUSec;

/** Whether every word of a filter occurs in what is shown of an app. */
export function matches(app, filter) {
    const { name, description, lastIncident } = app;
    const text = [name, description, app.state, stateOf(app).word, lastIncident?.summary, lastIncident?.verdict]
        .join('\n').toLowerCase();
    return filter.toLowerCase().split(/\s+/u).every((word) => text.includes(word));
}

/** How many apps are in each state: "3 apps: 2 running, 1 failed". */
export function tally(apps) {
    const counts = new Map();
    for (const app of apps) {
        const { word } = stateOf(app);
        counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    const states = Array.from(counts).sort(([a], [b]) => (a < b ? -1 : 1)).map(([word, count]) => `${count} ${word}`);
    return `${apps.length} ${apps.length === 1 ? 'app' : 'apps'}${states.length > 0 ? `: ${states.join(', ')}` : ''}`;
}
