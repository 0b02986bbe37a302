// SPDX-License-Identifier: Apache-2.0
// The list of events: bounded, newest first, and pausable.

import { button, element, write } from './dom.js';
import { shown } from './text.js';

const MOST_LINES = 200;

/** Kinds of events that are about trouble. */
const TROUBLE = new Set([
    'exhausted', 'captureFailed', 'reported', 'channelLost', 'unkillable', 'limitReached', 'launchFailed',
    'probeFailed', 'reloadFailed', 'leftBehind', 'launchRegressed', 'hung',
]);

export class EventList {
    node;
    #list = element('ol', { class: 'events', role: 'log', 'aria-live': 'off', 'aria-label': 'Events', tabIndex: 0 });
    #pause = button('Pause', () => this.#toggle());
    #note = element('span', { class: 'quiet', role: 'status' });
    #waiting = [];
    #seen = new Set();
    #isPaused = false;
    #openReport;
    #app;
    #times = new Intl.DateTimeFormat(
        undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
    #dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

    constructor(openReport) {
        this.#openReport = openReport;
        this.node = element('section', { class: 'card', 'aria-labelledby': 'events-title' },
            element('header', {}, element('h2', { id: 'events-title' }, 'Events'), this.#note, this.#pause),
            this.#list);
    }

    /** Shows the events of one app, or of all. */
    select(app) {
        this.#app = app;
        for (const line of this.#list.children) line.hidden = !this.#isSelected(line);
    }

    add(event) {
        // A daemon that is connected to again begins with events that are here already.
        const key = `${event.sequence}@${event.timeUSec}`;
        if (this.#seen.has(key)) return;
        this.#seen.add(key);
        if (this.#seen.size > 5 * MOST_LINES) this.#seen.delete(this.#seen.values().next().value);
        this.#show(this.#line(event.timeUSec, event.app, event.message ?? event.kind, event));
    }

    addMissed(count) {
        this.#show(this.#line(Date.now() * 1000, undefined, `${count} events were missed.`, { kind: 'missed' }));
    }

    /** What happened to the connection belongs between the events. */
    addNote(text) {
        this.#show(this.#line(Date.now() * 1000, undefined, text, { kind: 'connection' }));
    }

    clear() {
        this.#list.replaceChildren();
        this.#waiting = [];
        this.#seen.clear();
    }

    #line(time, app, message, { kind, report }) {
        const date = new Date(time / 1000);
        const stamp = { dateTime: date.toISOString(), title: this.#dates.format(date) };
        const line = element('li', { class: TROUBLE.has(kind) ? 'trouble' : '' },
            element('time', stamp, this.#times.format(date)),
            element('span', { class: 'app' }, app === undefined ? '' : shown(app, 100)),
            element('span', { class: 'message' }, shown(message)));
        if (app !== undefined) line.dataset.app = app;
        if (typeof report === 'string') {
            line.lastChild.append(' ', button('Report', () => this.#openReport(report, app), 'link'));
        }
        return line;
    }

    #isSelected(line) {
        return this.#app === undefined || line.dataset.app === undefined || line.dataset.app === this.#app;
    }

    #show(line) {
        if (this.#isPaused) {
            this.#waiting.push(line);
            if (this.#waiting.length > MOST_LINES) this.#waiting.shift();
            write(this.#note, `${this.#waiting.length === MOST_LINES ? 'at least ' : ''}${this.#waiting.length} new`);
            return;
        }
        line.hidden = !this.#isSelected(line);
        this.#list.prepend(line);
        while (this.#list.childElementCount > MOST_LINES) this.#list.lastChild.remove();
    }

    #toggle() {
        this.#isPaused = !this.#isPaused;
        write(this.#pause, this.#isPaused ? 'Continue' : 'Pause');
        write(this.#note, this.#isPaused ? 'paused' : '');
        if (this.#isPaused) return;
        for (const line of this.#waiting.splice(0)) this.#show(line);
    }
}
