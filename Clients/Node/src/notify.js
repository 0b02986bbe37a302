// SPDX-License-Identifier: Apache-2.0
// sd_notify(3) for a runtime that has no Unix datagram sockets: systemd-notify(1) says it.

import { spawn } from 'node:child_process';

import { FULL, SENT } from './channel.js';

/** One message after the other, each by a process of its own. It does not keep this process alive. */
export class Notifier {
    #program;
    #onIdle;
    #isBusy = false;

    /** `onIdle` is called when the next message can be said. */
    constructor(onIdle, program = 'systemd-notify') {
        this.#onIdle = onIdle;
        this.#program = program;
    }

    encode(message) {
        return message.encodeForNotify();
    }

    send(datagram) {
        if (this.#isBusy) return FULL;
        this.#isBusy = true;
        const child = spawn(this.#program, datagram.toString().trimEnd().split('\n'), { stdio: 'ignore' });
        child.unref();
        child.on('error', (error) => {
            // No process, no 'exit'. It stays busy: what could not be started will not start the next time.
            process.emitWarning(`nobody hears of it: cannot execute ${this.#program}: ${error.code}`, 'WatchdogWarning');
        });
        child.on('exit', () => {
            this.#isBusy = false;
            this.#onIdle();
        });
        return SENT;
    }
}
