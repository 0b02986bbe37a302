// SPDX-License-Identifier: Apache-2.0
// The page: which daemon and which app it shows, what is polled, keys, and what is wrong.
/* global cockpit */

import { Daemon, findPlaces } from './daemon.js';
import { DetailsView } from './details.js';
import { button, element, openDialog, write } from './dom.js';
import { EventList } from './events.js';
import { cpuShare, quantile, readMetrics } from './metrics.js';
import { reportPage } from './program.js';
import { AppTable } from './table.js';
import { shown, tally } from './text.js';
import { diagnosis, trouble } from './wire.js';
import './theme.js';

/** Above this, the text with the metrics of all apps is too long to be read again and again. */
const MOST_APPS_WITH_METRICS = 200;
/** What pings are counted over. */
const PING_WINDOW = 60000;

class Page {
    #places;
    #place;
    #daemon;
    #apps = [];
    #readings = [];
    #uses = new Map();
    #details;
    #timer;
    #isRefreshing = false;
    #isStale = false;
    #lastMetrics = 0;
    #table = new AppTable((name) => this.#go(name), (path, app) => this.#openReport(path, app));
    #events = new EventList((path, app) => this.#openReport(path, app));
    #filter = element('input', {
        type: 'search', id: 'filter', placeholder: 'Filter  ( / )', 'aria-label': 'Filter apps', autocomplete: 'off',
        oninput: () => this.#draw(),
    });
    #select = element('select', {
        'aria-label': 'Which watchdogd', onchange: () => cockpit.location.go([this.#select.value]),
    });
    #tally = element('p', { class: 'quiet tally', role: 'status' });
    #alert = element('div', { role: 'alert' });
    #notice = element('div', { role: 'status' });
    #withheld = element('p', { class: 'notice info', hidden: true },
        'You see only the names and states of apps. For more, turn on administrative access at the top of Cockpit.');
    #invalid = element('section', { class: 'card', 'aria-label': 'Invalid files', hidden: true });
    #main = element('div');
    #list = element('section', { class: 'card', 'aria-label': 'Apps' }, this.#table.node);

    constructor(places) {
        this.#places = places;
        for (const { id, label } of places) this.#select.append(element('option', { value: id }, label));
        this.#select.hidden = places.length < 2;
        document.getElementById('page').append(
            element('header', { class: 'top' },
                element('div', {}, element('h1', {}, 'Watched apps'), this.#tally),
                element('div', { class: 'tools' }, this.#filter, this.#select)),
            this.#alert, this.#notice, this.#withheld, this.#main, this.#events.node);
        cockpit.addEventListener('locationchanged', () => this.#route());
        cockpit.addEventListener('visibilitychange', () => this.#refresh());
        addEventListener('keydown', (event) => this.#key(event));
        this.#route();
    }

    // MARK: - Places

    #route() {
        const [id, kind, name] = cockpit.location.path;
        const place = this.#places.find((candidate) => candidate.id === id) ?? this.#place ?? this.#places[0];
        if (place !== this.#place) this.#watch(place, id === place.id);
        const app = kind === 'app' ? name : undefined;
        if (app === undefined) {
            const last = this.#details?.name;
            this.#details = undefined;
            this.#main.replaceChildren(this.#list, this.#invalid);
            if (last !== undefined) this.#list.querySelector(`tr[data-name="${CSS.escape(last)}"] button`)?.focus();
        } else if (this.#details?.name !== app) {
            const view = new DetailsView(app, this.#daemon, {
                back: () => this.#back(), openReport: (path) => this.#openReport(path, app),
                say: (text, tone) => this.#say(text, tone),
            });
            this.#details = { name: app, view };
            this.#main.replaceChildren(view.node);
            view.focus();
        }
        this.#filter.hidden = app !== undefined;
        this.#notice.replaceChildren();
        this.#events.select(app);
        this.#draw();
        this.#refresh();
    }

    #go(name) { cockpit.location.go([this.#place.id, 'app', name]); }

    #back() { cockpit.location.go([this.#place.id]); }

    #watch(place, isChosen) {
        this.#daemon?.disconnect();
        this.#place = place;
        this.#select.value = place.id;
        this.#apps = [];
        this.#details = undefined;
        this.#forgetUses();
        this.#events.clear();
        this.#alert.replaceChildren();
        let wasConnected = false;
        const daemon = new Daemon(place, {
            onconnected: () => {
                if (daemon !== this.#daemon) return;
                if (wasConnected) this.#events.addNote('Connected to watchdogd again.');
                else this.#events.clear();
                wasConnected = true;
                this.#alert.replaceChildren();
                this.#forgetUses();
                this.#refresh();
            },
            onlost: (problem, wait, refusal) => {
                if (daemon !== this.#daemon) return;
                const own = this.#places.find(({ id }) => id === 'user');
                // Who has not chosen sees the daemon that runs.
                if (problem === 'not-found' && !isChosen && !wasConnected && place.id === 'system' && own) {
                    this.#tryOwn(own);
                }
                if (this.#apps.length > 0) this.#events.addNote('The connection to watchdogd ended.');
                this.#apps = [];
                this.#withheld.hidden = true;
                this.#notice.replaceChildren();
                this.#showTrouble(trouble(problem, place, refusal), wait);
                this.#draw();
            },
            onevent: (event) => {
                if (daemon !== this.#daemon) return;
                this.#events.add(event);
                this.#refresh();
            },
            onmissed: (count) => daemon === this.#daemon && this.#events.addMissed(count),
        });
        this.#daemon = daemon;
        daemon.connect();
    }

    async #tryOwn(own) {
        const probe = new Daemon(own, {});
        try {
            await probe.ask('DescribeDaemon', {});
            if (cockpit.location.path.length === 0) cockpit.location.replace([own.id]);
        } catch { /* Neither runs; the machine's is what a user expects to see. */ }
        probe.disconnect();
    }

    // MARK: - What is shown

    #showTrouble({ text, advice, command }, wait) {
        const lines = [element('strong', {}, shown(text)), ' ', advice];
        if (command) lines.push(' ', element('code', {}, command));
        this.#alert.replaceChildren(element('div', { class: 'notice bad' },
            element('p', {}, ...lines),
            element('p', { class: 'quiet' }, `Next attempt in ${Math.ceil(wait / 1000)} s. `,
                button('Try now', () => this.#daemon.connect()))));
    }

    #say(text, tone) {
        if (this.#notice.firstChild?.dataset.text === text) return;
        const note = element('p', { class: `notice ${tone}` }, text, ' ', button('Close', () => note.remove(), 'link'));
        note.dataset.text = text;
        this.#notice.replaceChildren(note);
    }

    #draw() {
        write(this.#tally, this.#alert.hasChildNodes() ? '' : tally(this.#apps));
        this.#main.hidden = this.#alert.hasChildNodes();
        this.#table.update(this.#apps, this.#filter.value.trim(), this.#uses, Date.now() * 1000);
    }

    #drawInvalid(files) {
        this.#invalid.hidden = !(files?.length > 0);
        if (this.#invalid.hidden) return;
        this.#invalid.replaceChildren(
            element('h2', {}, 'Invalid files'),
            element('p', { class: 'quiet' }, 'Their apps are missing until the files are valid; see watchdogd check.'),
            element('ul', {}, ...files.slice(0, 50).map(({ name, diagnostics }) => element('li', {},
                element('strong', {}, shown(name)),
                ...(diagnostics ?? []).slice(0, 5).map(
                    (one) => element('div', { class: 'quiet' }, shown(diagnosis(one))))))));
    }

    async #openReport(path, app) {
        const content = element('p', { class: 'loading' }, 'Reading the report…');
        const dialog = openDialog(app === undefined ? 'Report' : `Report of ${shown(app, 80)}`, 'report', content);
        try {
            const page = await reportPage(this.#place, path);
            // An empty sandbox: no scripts, no forms, and an origin of its own.
            const frame = element('iframe', { title: 'The report', srcdoc: page });
            frame.setAttribute('sandbox', '');
            content.replaceWith(frame);
        } catch (error) {
            content.replaceChildren(element('strong', {}, 'The report cannot be shown. '), shown(error.message, 2000));
        }
        dialog.dataset.state = 'done';
    }

    // MARK: - What is asked

    /** Asks for everything again: soon, but not while it is being answered. */
    #refresh() {
        if (this.#isRefreshing) {
            this.#isStale = true;
            return;
        }
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#ask(), 50);
    }

    async #ask() {
        if (cockpit.hidden || this.#alert.hasChildNodes()) return;
        const [daemon, start] = [this.#daemon, performance.now()];
        this.#isRefreshing = true;
        this.#isStale = false;
        try {
            const { apps, invalid, isWithheld } = await daemon.ask('List', {});
            if (daemon === this.#daemon) {
                this.#apps = apps;
                this.#withheld.hidden = isWithheld !== true;
                if (isWithheld !== true) await this.#measure(daemon);
                this.#draw();
                this.#drawInvalid(invalid);
                const now = Date.now() * 1000;
                await this.#details?.view.update(this.#uses.get(this.#details.name) ?? {}, now);
            }
        } catch (error) {
            if (daemon === this.#daemon && error.problem === undefined) this.#say(shown(error.message), 'bad');
        }
        this.#isRefreshing = false;
        // A long list is asked for less often: what it costs stays a small share.
        const cost = performance.now() - start;
        const pause = this.#isStale ? Math.max(100, 4 * cost) : Math.max(2000, 10 * cost);
        this.#timer = setTimeout(() => this.#ask(), pause);
    }

    async #measure(daemon) {
        const count = this.#apps.length;
        const now = performance.now();
        if (count > MOST_APPS_WITH_METRICS || now - this.#lastMetrics < Math.max(4000, 100 * count)) return;
        this.#lastMetrics = now;
        const { parts } = await daemon.ask('Metrics', {});
        const reading = { time: now, apps: readMetrics(parts) };
        const last = this.#readings.at(-1);
        while (this.#readings.length > 1 && now - this.#readings[1].time > PING_WINDOW) this.#readings.shift();
        const first = this.#readings[0];
        this.#readings.push(reading);
        this.#uses = new Map(Array.from(reading.apps, ([name, use]) => {
            const earlier = first?.apps.get(name)?.pings ?? [];
            return [name, {
                ...use, p50: quantile(use.pings, earlier, 0.5), p99: quantile(use.pings, earlier, 0.99),
                cpu: last && cpuShare(use, last.apps.get(name), (now - last.time) / 1000),
            }];
        }));
    }

    #forgetUses() {
        this.#readings = [];
        this.#uses = new Map();
        this.#lastMetrics = -Infinity;
    }

    // MARK: - Keys

    #key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
        const isTyping = /^(INPUT|SELECT|TEXTAREA)$/u.test(event.target.tagName);
        if (event.key === '/' && !isTyping && !this.#filter.hidden) {
            event.preventDefault();
            this.#filter.select();
            this.#filter.focus();
        } else if (event.key === 'Escape' && event.target === this.#filter) {
            this.#filter.value = '';
            this.#filter.blur();
            this.#draw();
        } else if (event.key === 'Escape' && !isTyping && this.#details !== undefined) {
            this.#back();
        }
    }
}

cockpit.transport.wait(async () => new Page(await findPlaces()));
