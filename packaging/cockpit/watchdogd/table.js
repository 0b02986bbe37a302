// SPDX-License-Identifier: Apache-2.0
// The table of apps. Its rows are changed in place, so that the focus and what is selected stay.

import { button, element, write } from './dom.js';
import { ago, brief, bytes, matches, owed, percent, roughly, shown, sinceOf, stateOf } from './text.js';

/** Rows that are drawn; who has more apps filters. */
const MOST_ROWS = 500;

const COLUMNS = [
    ['App', ''], ['State', ''], ['Since', ''], ['PID', 'number'], ['Pings p50 / p99', 'number pings'],
    ['CPU', 'number cpu'], ['Memory', 'number memory'], ['Restarts', 'number'], ['Last incident', ''],
];

/** The sign and word of a state. */
export function badge(app) {
    const { word, sign, tone } = stateOf(app);
    return element('span', { class: `state ${tone}` }, element('span', { 'aria-hidden': 'true' }, sign), ` ${word}`);
}

/** The verdict of an incident, which opens its report. */
export function incident({ kind, summary, verdict, report }, app, openReport) {
    const whole = shown(verdict ?? summary ?? kind);
    // What follows says how the main thread spent its time; the report has that too.
    const text = whole.split(' · ')[0];
    const node = typeof report === 'string'
        ? button(text, () => openReport(report, app), 'link') : element('span', {}, text);
    node.title = whole;
    return node;
}

export class AppTable {
    node;
    #table = element('table', { class: 'apps' });
    #body = element('tbody');
    #note = element('p', { class: 'quiet' });
    #rows = new Map();
    #open;
    #openReport;

    constructor(open, openReport) {
        this.#open = open;
        this.#openReport = openReport;
        this.#table.append(
            element('caption', { class: 'hidden' }, 'Apps that watchdogd supervises'),
            element('thead', {}, element('tr', {},
                ...COLUMNS.map(([name, kind]) => element('th', { scope: 'col', class: kind }, name)))),
            this.#body);
        this.node = element('div', {}, this.#table, this.#note);
    }

    /** Shows those of the apps that match a filter; `uses` has the metrics of each, by its name. */
    update(apps, filter, uses, now) {
        const found = apps.filter((app) => matches(app, filter));
        this.#table.hidden = found.length === 0;
        // Without cgroups there is nothing to fill them with.
        const values = Array.from(uses.values());
        this.#table.classList.toggle('without-cpu', !values.some(({ cpu }) => cpu !== undefined));
        this.#table.classList.toggle('without-memory', !values.some(({ memoryBytes }) => memoryBytes !== undefined));
        this.#table.classList.toggle('without-pings', values.length === 0);
        const kept = new Set();
        let place = this.#body.firstChild;
        for (const app of found.slice(0, MOST_ROWS)) {
            kept.add(app.name);
            let row = this.#rows.get(app.name);
            if (row === undefined) {
                row = this.#row(app.name);
                this.#rows.set(app.name, row);
            }
            if (row === place) place = place.nextSibling;
            else this.#body.insertBefore(row, place);
            this.#fill(row, app, uses.get(app.name) ?? {}, now);
        }
        for (const [name, row] of this.#rows) {
            if (kept.has(name)) continue;
            row.remove();
            this.#rows.delete(name);
        }
        const hidden = found.length - Math.min(found.length, MOST_ROWS);
        let note = hidden > 0 ? `${hidden} more apps match; filter to see them.` : '';
        if (apps.length === 0) note = 'No apps are configured. Put NAME.app files into the apps.d folder, then reload.';
        else if (found.length === 0) note = 'No app matches the filter.';
        write(this.#note, note);
    }

    #row(name) {
        const row = element('tr', {
            onclick: (event) => {
                // A click that selects text, or that a button has taken, opens nothing.
                if (event.target.closest('button, a') || String(getSelection())) return;
                this.#open(name);
            },
        });
        row.dataset.name = name;
        row.append(
            element('th', { scope: 'row' }, button(shown(name), () => this.#open(name), 'link name'),
                element('span', { class: 'quiet second' })),
            ...COLUMNS.slice(1).map(([label, kind]) => element('td', { class: kind, 'data-label': label })));
        return row;
    }

    #fill(row, app, use, now) {
        const [name, state, since, pid, pings, cpu, memory, restarts, last] = row.cells;
        write(name.lastChild, app.description === undefined ? '' : shown(app.description, 200));
        const { word, tone } = stateOf(app);
        if (state.dataset.word !== word || row.dataset.tone !== tone) {
            state.dataset.word = word;
            row.dataset.tone = tone;
            state.replaceChildren(badge(app));
        }
        state.title = owed(app) ?? '';
        write(since, roughly(now - sinceOf(app)));
        since.title = new Date(sinceOf(app) / 1000).toLocaleString();
        write(pid, app.pid === undefined ? '' : String(app.pid));
        write(pings, this.#pings(use, now));
        pings.title = use.lastAnswerUSec === undefined ? '' : `last answer ${ago(use.lastAnswerUSec, now)}`;
        write(cpu, app.pid === undefined || use.cpu === undefined ? '' : percent(use.cpu));
        write(memory, app.pid === undefined || use.memoryBytes === undefined ? '' : bytes(use.memoryBytes));
        write(restarts, String(app.restarts ?? 0));
        const key = JSON.stringify(app.lastIncident ?? null);
        if (last.dataset.key === key) return;
        last.dataset.key = key;
        const hadFocus = last.contains(document.activeElement);
        last.replaceChildren();
        if (app.lastIncident) last.append(incident(app.lastIncident, app.name, this.#openReport));
        if (hadFocus) last.firstChild?.focus();
    }

    #pings({ p50, p99, lastAnswerUSec }, now) {
        const words = [p50, p99].map((limit) => (limit === Infinity ? '> 10 s' : limit && `≤ ${brief(limit)}`));
        if (words[0] !== undefined) return words.join(' / ');
        return lastAnswerUSec === undefined ? '' : `answered ${ago(lastAnswerUSec, now)}`;
    }
}
