// SPDX-License-Identifier: Apache-2.0
// All about one app: what it is doing, its launches, its reports; and what may be done with it.

import * as charts from './charts.js';
import { button, confirm, element, write } from './dom.js';
import { launches, reports } from './program.js';
import { badge, incident } from './table.js';
import { ago, brief, bytes, measured, owed, percent, roughly, shown, sinceOf } from './text.js';

const MOST_REPORTS = 10;

/** Who may not inspect an app sees no process of it. */
const isAlive = ({ state }) => ['launching', 'running', 'terminating', 'capturing', 'dying'].includes(state);

const ACTIONS = {
    Launch: {
        kind: 'primary', doing: 'Launching…', done: 'was launched',
        isPossible: (app) => !isAlive(app) && app.state !== 'unkillable',
    },
    Restart: {
        kind: '', doing: 'Restarting…', done: 'was restarted', isPossible: isAlive,
        question: 'watchdogd asks it to exit, then launches it again.',
    },
    Terminate: {
        kind: 'danger', doing: 'Terminating…', done: 'was terminated',
        isPossible: (app) => isAlive(app) || app.state === 'waiting',
        question: 'It stays down until someone launches it.',
    },
    Capture: {
        kind: '', label: 'Capture stacks', doing: 'Capturing…', done: 'keeps running; the report has its stacks',
        isPossible: isAlive,
    },
};

function latency({ count, p50USec, p99USec, maxUSec }) {
    if (!(count > 0)) return 'none';
    const times = [['p50', p50USec], ['p99', p99USec], ['longest', maxUSec]]
        .filter(([, time]) => time !== undefined).map(([name, time]) => `${name} ${measured(time)}`);
    return [count, ...times].join(', ');
}

function probes({ probes: answered, failedProbes }) {
    return latency(answered) + (failedProbes > 0 ? `; ${failedProbes} failed` : '');
}

/** How the latest launch went, in a line. */
function launchText({ durationUSec, source, firstFrameUSec, usefulUSec, openTasks }) {
    const marks = [['first frame after', firstFrameUSec], ['useful after', usefulUSec]]
        .filter(([, time]) => time !== undefined).map(([name, time]) => `${name} ${measured(time)}`);
    const tasks = openTasks?.length > 0 ? [`open tasks: ${openTasks.map((task) => shown(task, 60)).join(', ')}`] : [];
    return [`ready after ${measured(durationUSec)} (${shown(source, 40)})`, ...marks, ...tasks].join(', ');
}

/** Names and values, in the order in which they are read; what is undefined is left out. */
function facts(app, details, use, now) {
    const { allowances } = details;
    const causes = Object.entries(details.restartsByCause ?? {}).filter(([, count]) => count > 0)
        .map(([cause, count]) => `${shown(cause, 40)} ${count}`).join(', ');
    const limit = details.reachedLimit;
    const lastAnswer = details.lastAnswerUSec ?? use.lastAnswerUSec;
    return [
        ['Status', details.status],
        ['Limit', limit && `${limit.restarts} restarts within ${brief(limit.intervalUSec)}: ${limit.key} is reached`],
        ['PID', app.pid], ['Up', app.uptimeUSec && roughly(app.uptimeUSec)],
        ['Next launch', app.nextLaunchUSec && `in ${roughly(Math.max(0, app.nextLaunchUSec - now))}`],
        ['Lifecycle', details.lifecycle],
        ['Version', use.version],
        ['CPU', use.cpu === undefined || app.pid === undefined ? undefined : percent(use.cpu)],
        ['Memory', use.memoryBytes && bytes(use.memoryBytes)],
        ['Pings', latency(details.pings)],
        ['Last answer', lastAnswer && app.pid && ago(lastAnswer, now)],
        ['Probes', details.probes && probes(details)], ['Not probed', details.probeRefusal],
        ['Hangs', latency(details.hangs)],
        ['Restarts', causes === '' ? app.restarts : `${app.restarts} (${causes})`],
        ['Latest launch', details.launch && launchText(details.launch)],
        ['Launched for', details.launchedFor],
        ['Allowances', allowances && ['launch', 'update', 'terminate']
            .map((name) => `${name} ${brief(allowances[`${name}USec`])}`).join(', ')],
        ['When time runs out', details.isEnforced ? 'killed' : 'only reported'],
        ['Last exit', details.lastExit], ['Output', details.output], ['File', details.file],
    ].filter(([, value]) => value !== undefined && value !== 0 && value !== '');
}

export class DetailsView {
    node;
    #name;
    #daemon;
    #openReport;
    #say;
    #state = element('span');
    #since = element('span', { class: 'quiet' });
    #description = element('p', { class: 'quiet' });
    #buttons = new Map();
    #facts = element('dl', { class: 'facts' });
    #incident = element('p', { hidden: true });
    #reports = element('div');
    #launches = element('div');
    #shownIncident;
    #shownLaunch;
    #acting;

    /** `say(text, tone)` tells the user how an action went. */
    constructor(name, daemon, { back, openReport, say }) {
        this.#name = name;
        this.#daemon = daemon;
        this.#openReport = openReport;
        this.#say = say;
        const buttons = Object.entries(ACTIONS).map(([method, { label, kind }]) => {
            const made = button(label ?? method, () => this.#act(method), kind);
            made.disabled = true;
            this.#buttons.set(method, made);
            return made;
        });
        this.node = element('article', {},
            element('nav', { 'aria-label': 'Breadcrumb' }, button('‹ All apps', back, 'link')),
            element('header', { class: 'app' },
                element('div', {}, element('h2', { tabIndex: -1 }, shown(name)), this.#state, ' ', this.#since),
                element('div', { class: 'actions', role: 'group', 'aria-label': 'Actions' }, ...buttons)),
            this.#description, this.#incident,
            element('section', { class: 'card', 'aria-labelledby': 'facts-title' },
                element('h3', { id: 'facts-title' }, 'Now'), this.#facts),
            element('section', { class: 'card', 'aria-labelledby': 'launches-title' },
                element('h3', { id: 'launches-title' }, 'Launches'), this.#launches),
            element('section', { class: 'card', 'aria-labelledby': 'reports-title' },
                element('h3', { id: 'reports-title' }, 'Reports'), this.#reports));
    }

    focus() {
        this.node.querySelector('h2').focus();
    }

    /** Asks for the details and shows them; throws what the daemon answers. */
    async update(use, now) {
        const { app, details } = await this.#daemon.ask('Describe', { name: this.#name, logLines: 0 });
        this.#state.replaceChildren(badge(app));
        const since = new Date(sinceOf(app) / 1000).toLocaleString();
        const reason = owed(app);
        write(this.#since, `since ${since} (${roughly(now - sinceOf(app))})${reason === undefined ? '' : `: ${reason}`}`);
        write(this.#description, app.description === undefined ? '' : shown(app.description));
        for (const [method, made] of this.#buttons) {
            made.disabled = !ACTIONS[method].isPossible(app) || this.#acting === method;
        }
        this.#fillFacts(details === undefined ? [] : facts(app, details, use, now));
        this.#fillIncident(app, now);
        // These come from files: only what happened since can have changed them.
        const report = app.lastIncident?.report ?? null;
        if (this.#shownIncident !== report) {
            this.#shownIncident = report;
            this.#fillReports();
        }
        const launch = JSON.stringify([app.pid ?? null, app.state === 'launching']);
        if (this.#shownLaunch !== launch) {
            this.#shownLaunch = launch;
            this.#fillLaunches();
        }
    }

    #fillFacts(entries) {
        if (entries.length === 0) {
            this.#facts.replaceChildren(element('div', {},
                element('dd', {}, 'Only root and the owner of this watchdogd can see more than the name and state.')));
            return;
        }
        const old = new Map(Array.from(this.#facts.children, (pair) => [pair.dataset.fact, pair]));
        this.#facts.replaceChildren(...entries.map(([name, value]) => {
            const pair = old.get(name) ?? element('div', {}, element('dt', {}, name), element('dd', {}));
            pair.dataset.fact = name;
            write(pair.lastChild, shown(value));
            return pair;
        }));
    }

    #fillIncident(app, now) {
        const last = app.lastIncident;
        this.#incident.hidden = !last;
        if (!last) return;
        const key = JSON.stringify(last);
        if (this.#incident.dataset.key !== key) {
            this.#incident.dataset.key = key;
            this.#incident.className = 'incident';
            this.#incident.replaceChildren(
                element('strong', {}, shown(last.summary ?? last.kind)), ' ',
                incident(last, app.name, this.#openReport), ' ', element('span', { class: 'quiet' }));
        }
        write(this.#incident.lastChild, ago(last.timeUSec, now));
    }

    async #act(method) {
        const { question, doing, done } = ACTIONS[method];
        const title = `${method} ${shown(this.#name, 60)}?`;
        if (question && !await confirm(title, question, method, ACTIONS[method].kind)) return;
        const made = this.#buttons.get(method);
        const label = made.textContent;
        this.#acting = method;
        made.disabled = true;
        write(made, doing);
        try {
            const values = method === 'Capture' ? { name: this.#name } : { name: this.#name, wait: true };
            const reply = await this.#daemon.act(method, values);
            if (typeof reply.report === 'string') this.#openReport(reply.report, this.#name);
            const ended = typeof reply.ended === 'string' ? ` and has done its work: ${shown(reply.ended)}` : '';
            this.#say(`${shown(this.#name)} ${done}${ended}.`, 'good');
        } catch (error) {
            this.#say(shown(error.message), 'bad');
        }
        this.#acting = undefined;
        write(made, label);
    }

    async #fillReports() {
        let list;
        try {
            list = (await this.#daemon.ask('Reports', { app: this.#name, limit: MOST_REPORTS })).reports;
        } catch (error) {
            if (error.name !== 'NotPermitted') {
                this.#reports.replaceChildren(element('p', { class: 'quiet' }, shown(error.message)));
                return;
            }
            // The daemon lists them for root only; the group of the folder may still read it.
            try {
                list = await reports(this.#daemon.place, this.#name, MOST_REPORTS);
            } catch {
                this.#reports.replaceChildren(element('p', { class: 'quiet' }, shown(error.message)));
                return;
            }
        }
        if (!Array.isArray(list) || list.length === 0) {
            this.#reports.replaceChildren(element('p', { class: 'quiet' }, 'No reports.'));
            return;
        }
        const lines = list.slice(0, MOST_REPORTS).map(({ timeText, timeUSec, event, verdict, path }) => element('li', {},
            element('time', {}, timeText ?? new Date(timeUSec / 1000).toLocaleString()), ' ',
            incident({ kind: event ?? 'report', verdict, report: path }, this.#name, this.#openReport)));
        this.#reports.replaceChildren(element('ul', { class: 'reports' }, ...lines));
    }

    async #fillLaunches() {
        let history;
        try {
            history = await launches(this.#daemon.place, this.#name);
        } catch (error) {
            this.#launches.replaceChildren(element('p', { class: 'quiet' }, shown(error.message)));
            return;
        }
        const groups = history?.groups ?? [];
        if (groups.length === 0) {
            this.#launches.replaceChildren(element('p', { class: 'quiet' }, 'No launch was recorded.'));
            return;
        }
        const byVersion = charts.versions(groups);
        const figure = (caption, drawing) => element('figure', {}, element('figcaption', {}, caption), drawing);
        this.#launches.replaceChildren(
            element('div', { class: 'figures' },
                figure('Time until ready, all launches', charts.histogram(groups)),
                ...(byVersion ? [figure('Median of each version, and up to its 99th percentile', byVersion)] : [])),
            charts.table(groups));
    }
}
