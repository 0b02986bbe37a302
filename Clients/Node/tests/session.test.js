// SPDX-License-Identifier: Apache-2.0
// What is said when, with a clock and a transport of the test's own.

import assert from 'node:assert/strict';
import test from 'node:test';

import { App } from '../src/app.js';
import { FULL, GONE, SENT } from '../src/channel.js';
import { RETRY_MILLISECONDS } from '../src/session.js';

class Clock {
    time = 0;
    timers = [];
    now = () => this.time;
    after = (milliseconds, callback) => this.timers.push({ at: this.time + milliseconds, callback });

    pass(milliseconds) {
        this.time += milliseconds;
        const due = this.timers.filter((timer) => timer.at <= this.time);
        this.timers = this.timers.filter((timer) => timer.at > this.time);
        for (const timer of due) timer.callback();
    }
}

class Transport {
    outcome = SENT;
    datagrams = [];
    encode = (message) => message.encode();

    send(datagram) {
        if (this.outcome === SENT) this.datagrams.push(datagram.toString().trimEnd().split('\n'));
        return this.outcome;
    }

    take() {
        return this.datagrams.splice(0);
    }
}

function attached(handlers = {}, { hasLifecycle = true, launch } = {}) {
    const clock = new Clock();
    const transport = new Transport();
    const app = new App(clock);
    app.open(transport, handlers, hasLifecycle, launch);
    assert.equal(transport.take()[0][0], 'HELLO=1');
    return { app, clock, transport, say: (text) => app.receive(Buffer.from(text)) };
}

function ready(handlers, options) {
    const all = attached(handlers, options);
    all.app.setReady();
    all.transport.take();
    return all;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('what was said before comes with hello', () => {
    const app = new App(new Clock());
    const transport = new Transport();
    app.session.say((message) => (message.status = 'early'));
    app.setReady();
    app.open(transport, {}, false);
    assert.deepEqual(transport.take(), [
        ['HELLO=1', `PID=${process.pid}`, 'LIBRARY=watchdogd-node/1', 'READY=1', 'STATUS=early'],
    ]);
});

test('a full socket keeps the latest words and all tasks, and one timer tries again', () => {
    const { app, clock, transport } = attached();
    transport.outcome = FULL;
    for (let index = 0; index < 1000; index += 1) {
        app.session.say((message) => (message.status = String(index)));
        app.beginBackgroundTask('short').end();
        app.session.say((message) => (message.isUseful = true));
    }
    app.beginBackgroundTask('kept');
    assert.equal(clock.timers.length, 1);
    transport.outcome = SENT;
    clock.pass(RETRY_MILLISECONDS - 1);
    assert.deepEqual(transport.take(), []);
    clock.pass(1);
    assert.deepEqual(transport.take(), [['STATUS=999', 'USEFUL=1', 'BEGIN_TASK=1001 kept']]);
    assert.equal(clock.timers.length, 0);
});

test('a talkative app is held back to ten a second after a burst of twenty, and its answers are not', () => {
    const { app, clock, transport, say } = attached();
    for (let index = 0; index < 200; index += 1) app.session.say((message) => (message.status = String(index)));
    assert.equal(transport.take().length, 20);
    say('PING=1');
    assert.deepEqual(transport.take(), [['PONG=1', 'STATUS=199']]);
    let sent = 0;
    for (let index = 0; index < 1000; index += 1) {
        app.session.say((message) => (message.status = String(index)));
        clock.pass(1);
        sent += transport.take().length;
    }
    assert(sent >= 9 && sent <= 11, String(sent));
});

test('a supervisor that is gone is told nothing, and nothing is kept for it', () => {
    const { app, clock, transport } = attached();
    transport.outcome = GONE;
    app.setReady();
    assert.equal(app.session.isSupervised, false);
    transport.outcome = SENT;
    app.session.say((message) => (message.status = 'x'));
    clock.pass(1000);
    assert.deepEqual(transport.take(), []);
});

test('a state is entered and then answered, and its time is known', () => {
    const calls = [];
    const { app, clock, transport, say } = ready({
        onBackground: () => calls.push(app.backgroundTasks.millisecondsRemaining),
        onForeground: () => calls.push('foreground'),
    });
    say('STATE=background\nSTATE_ID=1\nBACKGROUND_USEC=30000000');
    clock.pass(1000);
    assert.equal(app.backgroundTasks.millisecondsRemaining, 29_000);
    return settled().then(() => {
        assert.deepEqual(transport.take(), [['STATE_DONE=1']]);
        say('STATE=foreground\nSTATE_ID=2');
        assert.equal(app.backgroundTasks.millisecondsRemaining, undefined);
        assert.deepEqual(calls, [30_000, 'foreground']);
        assert.deepEqual(transport.take(), [['STATE_DONE=2']]);
    });
});

test('a number that was heeded is answered again and changes nothing', () => {
    const calls = [];
    const { transport, say } = ready({
        onBackground: () => { calls.push('background'); },
        onForeground: () => { calls.push('foreground'); },
        onEvent: (event) => { calls.push(event); },
    });
    for (let turn = 0; turn < 2; turn += 1) {
        say('STATE=background\nSTATE_ID=5\nEVENT=url\nEVENT_ID=18446744073709551615\nPAYLOAD=x=1\nEVENT_FROM=mail');
    }
    say('STATE=foreground\nSTATE_ID=4');
    assert.deepEqual(calls, ['background', { kind: 'url', payload: 'x=1', sender: 'mail' }]);
    const both = [['STATE_DONE=5'], ['EVENT_DONE=18446744073709551615']];
    assert.deepEqual(transport.take(), [...both, ...both, ['STATE_DONE=5']]);
});

test('an event without a handler is lost, and said to be in the same datagram', () => {
    const { transport, say } = ready({ onForeground() {} });
    for (let turn = 0; turn < 2; turn += 1) say('EVENT=url\nEVENT_ID=1');
    assert.deepEqual(transport.take(), [['EVENT_DONE=1', 'EVENT_LOST=1'], ['EVENT_DONE=1']]);
});

test('promises hold back what follows but no answer', async () => {
    const calls = [];
    let go;
    const { transport, say } = ready({
        onBackground: () => new Promise((resolve) => { go = resolve; }),
        onEvent: (event) => { calls.push(event.kind); },
    });
    say('STATE=background\nSTATE_ID=1\nEVENT=url\nEVENT_ID=1\nPING=9');
    await settled();
    assert.deepEqual([transport.take(), calls], [[['PONG=9']], []]);
    go();
    await settled();
    assert.deepEqual([transport.take(), calls], [[['STATE_DONE=1'], ['EVENT_DONE=1']], ['url']]);
});

test('what comes during the launch waits for its end, but pings do not', () => {
    const calls = [];
    const { app, transport, say } = attached({ onEvent: (event) => { calls.push(event.kind); } });
    say('EVENT=url\nEVENT_ID=1\nPING=1');
    assert.deepEqual([transport.take(), calls], [[['PONG=1']], []]);
    app.setReady();
    assert.deepEqual([transport.take(), calls], [[['READY=1'], ['EVENT_DONE=1']], ['url']]);
});

test('states and events are not answered without a lifecycle', () => {
    const { transport, say } = ready({}, { hasLifecycle: false });
    say('STATE=background\nSTATE_ID=1\nEVENT=url\nEVENT_ID=1\nEXPIRE=1');
    assert.deepEqual(transport.take(), []);
});

test('a launch into the background begins there', () => {
    const calls = [];
    const launch = { isInBackground: true, eventKind: 'url' };
    const { say } = ready({ onForeground: () => { calls.push('foreground'); } }, { launch });
    say('STATE=background\nSTATE_ID=1');
    say('STATE=foreground\nSTATE_ID=2');
    assert.deepEqual(calls, ['foreground']);
});

test('expiration calls the handlers of open tasks once, then the one of the app', async () => {
    const calls = [];
    const { app, say } = ready({ onExpire: () => { calls.push('app'); } });
    const first = app.beginBackgroundTask('first', () => { calls.push('first'); first.end(); third.end(); });
    app.beginBackgroundTask('second', () => { calls.push('second'); });
    const third = app.beginBackgroundTask('third', () => { calls.push('third'); });
    say('EXPIRE=1');
    await settled();
    assert.deepEqual(calls, [], 'in the foreground nothing expires');
    say('STATE=background\nSTATE_ID=1\nEXPIRE=1');
    await settled();
    say('EXPIRE=1');
    await settled();
    assert.deepEqual(calls, ['first', 'second', 'app', 'app']);
    assert(first.isExpired);
    app.beginBackgroundTask('late', () => { calls.push('late'); });
    assert.equal(calls.at(-1), 'app', 'not before the caller has the task');
    await settled();
    assert.equal(calls.at(-1), 'late');
});

test('the request to end is heard once', () => {
    let calls = 0;
    const { say } = attached({ onTerminate: () => { calls += 1; } });
    say('TERMINATE=1');
    say('TERMINATE=1');
    assert.equal(calls, 1);
});

test('launch tasks have a name each and begin before the launch is over', () => {
    const { app, transport } = attached();
    assert(app.launchTasks.begin('a'));
    assert(!app.launchTasks.begin('a'));
    app.setReady();
    assert(app.launchTasks.begin('b'), 'while another goes on');
    app.launchTasks.end('a');
    app.launchTasks.end('b');
    app.launchTasks.end('b');
    assert(!app.launchTasks.begin('c'));
    assert.deepEqual(transport.take().flat(), [
        'BEGIN_LAUNCH_TASK=a', 'READY=1', 'BEGIN_LAUNCH_TASK=b', 'END_LAUNCH_TASK=a', 'END_LAUNCH_TASK=b',
    ]);
});
