#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// An HTTP service with a lifecycle: it counts requests, saves in the background, and ends when it is asked to.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import * as watchdog from '../src/index.js';

let requests = 0;
let savedRequests = 0;

const server = http.createServer((request, response) => {
    requests += 1;
    watchdog.summary(`${requests} requests, ${savedRequests} saved`);
    response.end(`${requests}\n`);
});

async function save() {
    await watchdog.backgroundTask('saving requests', async (task) => {
        while (savedRequests < requests && !task.isExpired) {
            savedRequests = requests;
            await sleep(50);
        }
    });
}

function handle(event) {
    watchdog.status(`handled ${event.kind}`);
    // `watchdogd conformance` asks for this, to see that nobody answers pings meanwhile.
    if (event.kind === 'conformance-block') {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(event.payload));
    }
}

function stop() {
    watchdog.stopping();
    server.close();
    server.closeIdleConnections();
}

watchdog.attach({
    lifecycle: true,
    onTerminate: stop,
    onBackground: save,
    onForeground: () => watchdog.status('in the foreground'),
    onEvent: handle,
});
await watchdog.launchTask('cache', () => sleep(20));
server.listen(Number(process.env.PORT ?? 0), 'localhost', () => {
    const { port } = server.address();
    console.log(`http://localhost:${port}/`);
    watchdog.ready();
    watchdog.firstFrame();
});
