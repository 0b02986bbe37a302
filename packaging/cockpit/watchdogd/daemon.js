// SPDX-License-Identifier: Apache-2.0
// Speaks to a watchdogd over its control socket, with the rights of who is logged in.
/* global cockpit */

import { ReplyReader, backoff, encodeCall, parameters } from './wire.js';

const ANSWER_LIMIT = 15000;
/** As long as an app may need to be launched or to end. */
const ACTION_LIMIT = 600000;

/** The daemons that a page can show: the machine's, and the user's own if there is a place for its socket. */
export async function findPlaces() {
    const system = {
        id: 'system', label: 'This machine', socket: '/run/watchdogd/control', superuser: 'try',
        reports: '/var/log/watchdogd/reports', history: '/var/lib/watchdogd/history.db',
        startCommand: 'systemctl start watchdogd', statusCommand: 'systemctl status watchdogd',
    };
    let answer = '';
    try {
        const script = 'printf "%s\\n" "$XDG_RUNTIME_DIR" "${XDG_STATE_HOME:-$HOME/.local/state}"';
        answer = await cockpit.spawn(['/bin/sh', '-c', script], { err: 'message' });
    } catch { /* The machine's is left. */ }
    const [runtime, state] = answer.split('\n');
    if (!runtime?.startsWith('/')) return [system];
    return [system, {
        id: 'user', label: 'My own', socket: `${runtime}/watchdogd/control`, superuser: undefined,
        reports: `${state}/watchdogd/reports`, history: `${state}/watchdogd/history.db`,
        startCommand: 'systemctl --user start watchdogd', statusCommand: 'systemctl --user status watchdogd',
    }];
}

/** One connection; calls are answered in their order. */
class Connection {
    #channel;
    #reader = new ReplyReader();
    #calls = [];
    #problem;
    #onclose;

    constructor(place, onclose = () => {}) {
        this.#onclose = onclose;
        // Binary: Cockpit ends the session when a text message contains a NUL byte.
        this.#channel = cockpit.channel(
            { payload: 'stream', unix: place.socket, binary: true, superuser: place.superuser });
        this.#channel.addEventListener('message', (_, data) => this.#receive(data));
        this.#channel.addEventListener('close', (_, { problem }) => this.#end(problem || 'disconnected'));
    }

    call(method, values, limit = ANSWER_LIMIT) {
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => this.close('timeout'), limit);
            this.#send(encodeCall(method, values), {
                take(reply) {
                    clearTimeout(timer);
                    try { resolve(parameters(reply)); } catch (error) { reject(error); }
                    return true;
                },
                fail(problem) {
                    clearTimeout(timer);
                    reject(Object.assign(new Error(`the connection ended: ${problem}`), { problem }));
                },
            });
        });
    }

    /** Calls a method that replies until the connection ends. */
    follow(method, values, onreply) {
        this.#send(encodeCall(method, values, true), {
            take: (reply) => {
                onreply(reply);
                return reply.continues !== true;
            },
            fail() {},
        });
    }

    close(problem = 'closed') {
        // First: the channel calls back at once, without the problem.
        this.#end(problem);
        this.#channel.close();
    }

    #send(bytes, call) {
        if (this.#problem !== undefined) {
            call.fail(this.#problem);
            return;
        }
        this.#calls.push(call);
        this.#channel.send(bytes);
    }

    #receive(data) {
        if (this.#problem !== undefined) return;
        try {
            for (const reply of this.#reader.read(data)) {
                if (this.#calls.length === 0) throw new Error('a reply to no call');
                if (this.#calls[0].take(reply)) this.#calls.shift();
            }
        } catch {
            this.close('protocol-error');
        }
    }

    #end(problem) {
        if (this.#problem !== undefined) return;
        this.#problem = problem;
        for (const call of this.#calls.splice(0)) call.fail(problem);
        this.#onclose(problem);
    }
}

/**
 * A daemon that is watched: connects, and connects again when the connection ends.
 *
 * Calls back with what happens: `onconnected()`, `onlost(problem, milliseconds until the next attempt, refusal)`,
 * `onevent(event)`, `onmissed(count)`. The refusal is what the daemon said, if it refused to be watched.
 */
export class Daemon {
    place;
    #callbacks;
    #monitor;
    #calls;
    #attempt = 0;
    #retry;
    #refusal;

    constructor(place, callbacks) {
        this.place = place;
        this.#callbacks = callbacks;
    }

    /** Connects now, whatever was to come. */
    connect(history = 100) {
        this.disconnect();
        const monitor = new Connection(this.place, (problem) => this.#lose(monitor, problem));
        this.#monitor = monitor;
        const timer = setTimeout(() => monitor.close('timeout'), ANSWER_LIMIT);
        let isConnected = false;
        this.#refusal = undefined;
        monitor.follow('Monitor', { history }, (reply) => {
            clearTimeout(timer);
            let event, missed;
            try {
                ({ event, missed } = parameters(reply));
            } catch (error) {
                this.#refusal = error.message;
                monitor.close('refused');
                return;
            }
            if (!isConnected) {
                isConnected = true;
                this.#attempt = 0;
                this.#callbacks.onconnected();
            }
            if (event) this.#callbacks.onevent(event);
            if (missed) this.#callbacks.onmissed(missed);
        });
    }

    disconnect() {
        clearTimeout(this.#retry);
        const connections = [this.#monitor, this.#calls];
        this.#monitor = this.#calls = undefined;
        for (const connection of connections) connection?.close();
    }

    /** Asks something that is answered at once. */
    ask(method, values) {
        if (this.#calls === undefined) {
            const calls = new Connection(this.place, (problem) => {
                if (this.#calls === calls) this.#calls = undefined;
                // A daemon that is stopped keeps its connections open.
                if (problem === 'timeout') this.#monitor?.close(problem);
            });
            this.#calls = calls;
        }
        return this.#calls.call(method, values);
    }

    /** Has something done, on a connection of its own: the answer may take as long as an app takes. */
    async act(method, values) {
        const connection = new Connection(this.place);
        try {
            return await connection.call(method, values, ACTION_LIMIT);
        } finally {
            connection.close();
        }
    }

    #lose(monitor, problem) {
        if (this.#monitor !== monitor) return;
        this.disconnect();
        const wait = backoff(this.#attempt);
        this.#attempt += 1;
        this.#retry = setTimeout(() => this.connect(), wait);
        this.#callbacks.onlost(problem, wait, this.#refusal);
    }
}
