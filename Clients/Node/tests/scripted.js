// SPDX-License-Identifier: Apache-2.0
// A program under a scripted supervisor; supervisor.py has the sockets.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

export const LIMIT_MILLISECONDS = 20_000;

const SUPERVISOR = fileURLToPath(new URL('supervisor.py', import.meta.url));
const CLIENT = new URL('../src/index.js', import.meta.url).href;

export function example(name) {
    return fileURLToPath(new URL(`../examples/${name}.mjs`, import.meta.url));
}

export class Supervised {
    #relay;
    #events = [];
    #wake = () => {};

    /**
     * Starts a file of the examples, or a module that has the client as `watchdog`, and stops it with the test.
     *
     * `kind` is the supervisor: channel, notify, abstract or none.
     */
    constructor(test, program, { kind = 'channel', environment = {}, options = [] } = {}) {
        const words = program.endsWith('.mjs')
            ? [program]
            : ['--input-type=module', '--eval', `import * as watchdog from '${CLIENT}';\n${program}`];
        const { WATCHDOG_USEC, WATCHDOG_PID, ...inherited } = process.env;
        this.#relay = spawn('/usr/bin/python3', [SUPERVISOR, kind, process.execPath, ...options, ...words], {
            env: { ...inherited, ...environment },
            stdio: ['pipe', 'pipe', 'inherit'],
        });
        readline.createInterface({ input: this.#relay.stdout }).on('line', (line) => {
            this.#events.push(JSON.parse(line));
            this.#wake();
        });
        test.after(() => this.#relay.stdin.end());
    }

    say(...lines) {
        this.command({ say: lines.join('\n') });
    }

    command(command) {
        this.#relay.stdin.write(`${JSON.stringify(command)}\n`);
    }

    /** Waits for the first event that has this key, and drops it. */
    async event(key) {
        const deadline = Date.now() + LIMIT_MILLISECONDS;
        for (;;) {
            const index = this.#events.findIndex((event) => key in event);
            if (index >= 0) return this.#events.splice(index, 1)[0][key];
            const left = deadline - Date.now();
            assert(left > 0, `nothing with '${key}' in time, but ${JSON.stringify(this.#events)}`);
            await new Promise((resolve) => {
                const timer = setTimeout(resolve, left);
                this.#wake = () => {
                    clearTimeout(timer);
                    resolve();
                };
            });
        }
    }

    /** The lines of the next datagram. */
    hear() {
        return this.event('heard');
    }

    /** The lines of all datagrams up to the one that has `line`. */
    async hearUntil(line) {
        const heard = [];
        while (!heard.includes(line)) heard.push(...(await this.hear()));
        return heard;
    }

    async expect(...lines) {
        assert.deepEqual(await this.hear(), lines);
    }

    /** What has happened of this key and has not been asked for. */
    untaken(key) {
        return this.#events.filter((event) => key in event).map((event) => event[key]);
    }
}
