// SPDX-License-Identifier: Apache-2.0
// Whole programs under a scripted supervisor.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import * as watchdog from '../src/index.js';
import { Supervised, example } from './scripted.js';

const STAY = 'setInterval(() => {}, 1000);';

/** Code that says that it blocks the event loop, and does so until the test calls `release()`. */
function block(test) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'watchdogd-node-'));
    test.after(() => fs.rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'released');
    const code = `
        console.log('blocked');
        const cell = new Int32Array(new SharedArrayBuffer(4));
        while (!fs.existsSync('${file}')) Atomics.wait(cell, 0, 0, 5);`;
    return { code, release: () => fs.writeFileSync(file, '') };
}

const hasSystemdNotify = (() => {
    try {
        return execFileSync('systemd-notify', ['--version']).length > 0;
    } catch {
        return false;
    }
})();
const needsSystemdNotify = hasSystemdNotify ? {} : { skip: 'systemd-notify is not installed' };

async function greeted(app) {
    const pid = await app.event('pid');
    const greeting = await app.hear();
    assert.deepEqual(greeting.slice(0, 3), ['HELLO=1', `PID=${pid}`, 'LIBRARY=watchdogd-node/1']);
    return { pid, greeting };
}

test('hello says whether there is a lifecycle', async (t) => {
    const plain = new Supervised(t, `watchdog.attach(); ${STAY}`);
    assert.equal((await greeted(plain)).greeting.length, 3);
    const full = new Supervised(t, `watchdog.attach({ lifecycle: true }); ${STAY}`);
    assert.equal((await greeted(full)).greeting.at(-1), 'LIFECYCLE=1');
});

test('the event loop answers, and a blocked one does not', async (t) => {
    const { code, release } = block(t);
    const app = new Supervised(
        t, `import fs from 'node:fs'; watchdog.attach(); setTimeout(() => { ${code} }, 50); ${STAY}`);
    await greeted(app);
    assert.equal(await app.event('printed'), 'blocked');
    app.say('PING=1');
    await sleep(200);
    assert.deepEqual(app.untaken('heard'), [], 'it answered while its loop was blocked');
    release();
    await app.expect('PONG=1');
});

test('each ping of a flood among garbage is answered, or the newest of several', async (t) => {
    const app = new Supervised(t, `watchdog.attach(); watchdog.ready(); ${STAY}`);
    await greeted(app);
    await app.expect('READY=1');
    for (const garbage of ['00', 'ff'.repeat(4096), '50494e473d31003d', `${'50494e473d390a'}${'78'.repeat(60_000)}`]) {
        app.command({ bytes: garbage });
    }
    for (let number = 1; number <= 500; number += 1) app.say(`PING=${number}`, 'UNKNOWN=1');
    const heard = await app.hearUntil('PONG=500');
    assert.deepEqual(heard, heard.toSorted?.((a, b) => a.slice(5) - b.slice(5)) ?? heard);
    assert.equal(new Set(heard).size, heard.length);
});

test('no program that it starts has the channel or its variables', async (t) => {
    const app = new Supervised(t, `
        import { execFileSync } from 'node:child_process';
        watchdog.attach();
        const shell = 'env | grep -c ^WATCHDOG_; ls -l /proc/self/fd | grep -c socket: || true';
        const printed = execFileSync('/bin/sh', ['-c', shell + ':'], { stdio: ['ignore', 'pipe', 'inherit'] });
        console.log(printed.toString().replaceAll('\\n', ' '), process.env.WATCHDOG_STATE, watchdog.launch().isInBackground);
        ${STAY}`, { environment: { WATCHDOG_STATE: 'background', WATCHDOG_EVENT: 'url' } });
    await greeted(app);
    assert.match(await app.event('printed'), /^0 [01] +undefined true$/);
});

test('a program that has nothing else to do ends, and its last words arrive', async (t) => {
    const app = new Supervised(t, `
        watchdog.attach();
        watchdog.ready();
        for (let index = 1; index <= 100; index += 1) watchdog.status('word ' + index);
        watchdog.stopping();
        watchdog.summary('the end');`);
    await app.hearUntil('SUMMARY=the end');
    assert.equal(await app.event('exit'), 0);
});

test('process.exit() does not wait for the channel', async (t) => {
    const app = new Supervised(t, `watchdog.attach(); setTimeout(() => process.exit(3), 50); ${STAY}`);
    assert.equal(await app.event('exit'), 3);
});

test('a supervisor that does not read blocks nothing, and hears the latest words afterwards', async (t) => {
    const app = new Supervised(t, `
        process.once('SIGUSR2', () => {
            for (let index = 1; index <= 1000; index += 1) { watchdog.status('word ' + index); watchdog.useful(); }
            watchdog.beginBackgroundTask('saving');
            console.log('talked');
        });
        watchdog.attach();
        ${STAY}`);
    await greeted(app);
    app.command({ fill: true });
    await app.event('done');
    app.command({ signal: 12 });
    assert.equal(await app.event('printed'), 'talked');
    await sleep(200);
    app.command({ drain: true });
    await app.hearUntil('STATUS=word 1000');
});

test('every function speaks', async (t) => {
    const app = new Supervised(t, `
        watchdog.status('early');
        watchdog.attach();
        await watchdog.launchTask('rows', async () => {});
        await watchdog.backgroundTask('saving', async (task) => task.isExpired);
        watchdog.firstFrame(); watchdog.firstFrame(); watchdog.useful(); watchdog.summary('m');
        watchdog.extend(30_000, '1 of 2'); watchdog.ready(); watchdog.stopping();
        await watchdog.launchTask('late', () => {});
        watchdog.beginBackgroundTask('late').end();`);
    const heard = await app.hearUntil('STOPPING=1');
    assert.deepEqual(heard.slice(3), [
        'STATUS=early', 'BEGIN_LAUNCH_TASK=rows', 'END_LAUNCH_TASK=rows', 'BEGIN_TASK=1 saving', 'END_TASK=1',
        'FIRST_FRAME=1', 'USEFUL=1', 'SUMMARY=m', 'EXTEND_TIMEOUT_USEC=30000000', 'PROGRESS=1 of 2', 'READY=1', 'STOPPING=1',
    ]);
    assert.equal(await app.event('exit'), 0);
    assert.deepEqual(app.untaken('heard'), []);
});

test('SIGTERM and the request over the channel are one', async (t) => {
    const app = new Supervised(t, `watchdog.attach({ onTerminate: () => console.log('end') }); ${STAY}`);
    await greeted(app);
    app.command({ signal: 15 });
    assert.equal(await app.event('printed'), 'end');
    app.say('TERMINATE=1', 'PING=1');
    await app.expect('PONG=1');
    app.command({ signal: 9 });
    await app.event('exit');
    assert.deepEqual(app.untaken('printed'), []);
});

test('what a handler throws is an uncaught exception, and its state is answered', async (t) => {
    const app = new Supervised(t, `
        process.on('uncaughtException', (error) => console.log('uncaught ' + error.message));
        watchdog.attach({
            lifecycle: true,
            onBackground() { throw new Error('one'); },
            async onForeground() { throw new Error('two'); },
        });
        watchdog.ready();
        ${STAY}`);
    await greeted(app);
    await app.expect('READY=1');
    app.say('STATE=background', 'STATE_ID=1');
    await app.expect('STATE_DONE=1');
    assert.equal(await app.event('printed'), 'uncaught one');
    app.say('STATE=foreground', 'STATE_ID=2');
    await app.expect('STATE_DONE=2');
    assert.equal(await app.event('printed'), 'uncaught two');
});

test('the service goes on without the supervisor, at rest', async (t) => {
    const app = new Supervised(t, example('service'));
    const { pid } = await greeted(app);
    await app.hearUntil('FIRST_FRAME=1');
    app.command({ close: true });
    await app.event('done');
    const ticks = () => {
        const columns = fs.readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
        return Number(columns[11]) + Number(columns[12]);
    };
    const before = ticks();
    await sleep(1000);
    assert(ticks() - before < 50, 'a busy loop');
    app.command({ signal: 15 });
    assert.equal(await app.event('exit'), 0);
});

test('the service saves in the background and ends when it is asked to', async (t) => {
    const app = new Supervised(t, example('service'));
    await app.hearUntil('FIRST_FRAME=1');
    const address = await app.event('printed');
    assert.equal(await (await fetch(address)).text(), '1\n');
    app.say('STATE=background', 'STATE_ID=1');
    const heard = await app.hearUntil('STATE_DONE=1');
    assert(heard.includes('BEGIN_TASK=1 saving requests') && heard.includes('END_TASK=1'), heard);
    app.say('TERMINATE=1');
    await app.hearUntil('STOPPING=1');
    assert.equal(await app.event('exit'), 0);
});

test('without a supervisor, or with a channel that is none, there is silence', async (t) => {
    const values = ['', '-1', 'x', '3x', '99999999999999999999', '1000000', '0', '1', '2'];
    for (const value of [undefined, ...values]) {
        const app = new Supervised(t, `
            watchdog.attach({ lifecycle: true });
            watchdog.ready();
            console.log(watchdog.isSupervised(), process.env.WATCHDOG_CHANNEL);`, {
            kind: 'none', environment: value === undefined ? {} : { WATCHDOG_CHANNEL: value } });
        assert.equal(await app.event('printed'), 'false undefined', value);
        assert.equal(await app.event('exit'), 0);
    }
});

test('a stream socket, a pipe and a file are left alone', async (t) => {
    const app = new Supervised(t, `
        import fs from 'node:fs';
        import net from 'node:net';
        import { isChannel } from '${new URL('../src/environment.js', import.meta.url).href}';
        const server = net.createServer().listen('\\0watchdogd-' + process.pid, () => {
            const client = net.connect('\\0watchdogd-' + process.pid, () => {
                const file = fs.openSync('/dev/null');
                console.log([client._handle.fd, server._handle.fd, file, 1].map(isChannel).join(' '));
                process.exit();
            });
        });`, { kind: 'none' });
    assert.equal(await app.event('printed'), 'false false false false');
});

test('attach() is refused a second time, in a worker, and with unknown options', async (t) => {
    const app = new Supervised(t, `
        import { Worker } from 'node:worker_threads';
        const worker = new Worker('import("${new URL('../src/index.js', import.meta.url).href}").then((w) => w.attach())', { eval: true });
        worker.on('error', (error) => {
            console.log(error.message);
            watchdog.attach();
            try { watchdog.attach(); } catch (error) { console.log(error.name + ': ' + error.message); }
        });`, { kind: 'none' });
    assert.equal(await app.event('printed'), 'watchdogd: attach() belongs to the main thread, not to a worker');
    assert.equal(await app.event('printed'), 'AttachError: watchdogd: attach() was called before');
    assert.throws(() => watchdog.attach({ onTerminat() {} }), /unknown option 'onTerminat'; attach\(\) knows lifecycle, /);
    assert.throws(() => watchdog.attach({ onEvent: 1 }), /onEvent must be a function, not number/);
    assert.throws(() => watchdog.extend('30s', 'x'), /a number of milliseconds/);
});

test('the types declare what the module exports', () => {
    const types = fs.readFileSync(new URL('../src/index.d.ts', import.meta.url), 'utf8');
    const declared = [...types.matchAll(/^export (?:function|class) (\w+)/gm)].map((match) => match[1]);
    assert.deepEqual(declared.sort(), Object.keys(watchdog).sort());
});

for (const kind of ['notify', 'abstract']) {
    test(`a service manager hears sd_notify (${kind})`, needsSystemdNotify, async (t) => {
        const app = new Supervised(
            t, `watchdog.attach(); watchdog.summary('x'); watchdog.ready(); setTimeout(() => watchdog.status('here'), 50); ${STAY}`,
            { kind });
        await app.expect('READY=1');
        await app.expect('STATUS=here');
    });
}

test('signs of life come from the event loop at half of the allowance', needsSystemdNotify, async (t) => {
    const { code, release } = block(t);
    const app = new Supervised(t, `
        import fs from 'node:fs';
        watchdog.attach();
        process.once('SIGUSR2', () => { ${code} });
        ${STAY}`, { kind: 'notify', environment: { WATCHDOG_USEC: '400000' } });
    for (let turn = 0; turn < 3; turn += 1) await app.expect('WATCHDOG=1');
    app.command({ signal: 12 });
    assert.equal(await app.event('printed'), 'blocked');
    await sleep(1500);
    // One or two may have been under way.
    assert(app.untaken('heard').length <= 2, JSON.stringify(app.untaken('heard')));
    release();
    for (let turn = 0; turn < 3; turn += 1) await app.expect('WATCHDOG=1');
});

test('signs of life that are meant for another process are not sent', needsSystemdNotify, async (t) => {
    const app = new Supervised(t, `watchdog.attach(); setTimeout(() => watchdog.ready(), 300); ${STAY}`, {
        kind: 'notify', environment: { WATCHDOG_USEC: '100000', WATCHDOG_PID: '1' } });
    await app.expect('READY=1');
});

test('a program without systemd-notify is warned once and goes on', async (t) => {
    const app = new Supervised(t, `
        process.on('warning', (warning) => console.log(warning.name, warning.message));
        process.env.PATH = '/nonexistent';
        watchdog.attach(); watchdog.ready(); watchdog.status('x');
        setTimeout(() => { watchdog.stopping(); console.log('over'); }, 300);`, { kind: 'notify', options: ['--no-warnings'] });
    assert.equal(
        await app.event('printed'),
        'WatchdogWarning nobody hears of it: cannot execute systemd-notify: ENOENT');
    assert.equal(await app.event('printed'), 'over');
    assert.equal(await app.event('exit'), 0);
});
