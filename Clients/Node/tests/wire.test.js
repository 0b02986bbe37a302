// SPDX-License-Identifier: Apache-2.0
// Messages, without I/O.

import assert from 'node:assert/strict';
import test from 'node:test';

import { ClientMessage, cut, decode, fields, isForLifecycle, isNotifyAddress, number } from '../src/wire.js';

const encoded = (message) => message.encode().datagram.toString().split('\n').slice(0, -1);

test('numbers are ASCII digits up to 2^64 - 1', () => {
    assert.equal(number('18446744073709551615'), 2n ** 64n - 1n);
    assert.equal(number('007'), 7n);
    for (const bad of ['', '-1', '+1', ' 1', '1 ', '0x1', '1e3', '٣', '18446744073709551616', '9'.repeat(5000)]) {
        assert.equal(number(bad), undefined, bad);
    }
});

test('texts are cut at whole characters', () => {
    assert.equal(cut('é'.repeat(600), 1024), 'é'.repeat(512));
    assert.equal(cut(`${'x'.repeat(127)}é`, 128), 'x'.repeat(127));
    assert.equal(cut('𝄞', 3), '');
    assert.equal(cut('\ud800', 64), '\ufffd');
});

test('the first assignment to a key counts, and lines end at LF or CR', () => {
    const said = fields(Buffer.from('A=1\r\nA=2\nB=x=y\n=z\nC\nD=\0'));
    assert.deepEqual([...said], [['A', '1'], ['B', 'x=y'], ['D', '']]);
});

test('a NUL within, or a byte too many, spoils a datagram', () => {
    const limit = 'PING=1\n' + 'x'.repeat(4089);
    assert.equal(decode(Buffer.from(limit)).ping, 1n);
    assert.equal(decode(Buffer.from(`${limit}\0`)).ping, 1n);
    assert.equal(decode(Buffer.from(`${limit}x`)).ping, undefined);
    assert.equal(decode(Buffer.from('PING=1\0\nPING=2')).ping, undefined);
});

test('what is unusable in a datagram is left out', () => {
    for (const bad of [
        'STATE=sideways\nSTATE_ID=1', 'STATE=background', 'STATE=background\nSTATE_ID=0', 'EVENT=x',
        'EVENT=x\nEVENT_ID=99999999999999999999', 'EXPIRE=yes', 'BACKGROUND_USEC=0',
        'BACKGROUND_USEC=9223372036854775808', 'TERMINATE=2', 'PING', '__proto__=1', 'constructor=1',
    ]) {
        const message = decode(Buffer.from(bad));
        assert.equal(isForLifecycle(message) || message.isTerminating || message.ping !== undefined, false, bad);
    }
    const event = decode(Buffer.from(`EVENT=${'k'.repeat(100)}\nEVENT_ID=3\nPAYLOAD=${'p'.repeat(3000)}`)).event;
    assert.deepEqual([event.kind.length, event.id, event.payload.length], [64, 3n, 2048]);
});

test('texts are one line', () => {
    const message = new ClientMessage();
    message.status = 'a\nREADY=1\r\0b';
    assert.deepEqual(encoded(message), ['STATUS=a READY=1  b']);
});

test('a task whose beginning was not sent is not mentioned', () => {
    const message = new ClientMessage();
    message.tasksBegun.push({ id: 1, name: 'x' });
    message.endTask(1);
    message.endTask(2);
    assert.deepEqual(encoded(message), ['END_TASK=2']);
});

test('what has no room waits, and no end overtakes its beginning', () => {
    let message = new ClientMessage();
    for (let id = 1; id <= 50; id += 1) message.tasksBegun.push({ id, name: 'n'.repeat(300) });
    message.stateDone = 3n;
    message.tasksEnded.push(1);
    const heard = [];
    let datagrams = 0;
    while (!message.isEmpty) {
        const { datagram, rest } = message.encode();
        assert(datagram.length <= 4096);
        heard.push(...datagram.toString().trimEnd().split('\n').map((line) => line.split(' ')[0]));
        message = rest;
        datagrams += 1;
    }
    assert.equal(datagrams, 2);
    assert.deepEqual(heard.slice(-3), ['BEGIN_TASK=50', 'STATE_DONE=3', 'END_TASK=1']);
});

test('a full message still fits into a datagram', () => {
    const message = new ClientMessage();
    Object.assign(message, { hello: true, isReady: true, pong: 2n ** 64n - 1n, isStopping: true, isUseful: true });
    Object.assign(message, { status: 'é'.repeat(2000), summary: 's'.repeat(500), progress: 'p'.repeat(500) });
    Object.assign(message, { extensionMicroseconds: 2n ** 63n - 1n, eventDone: 2n ** 64n - 1n, isFirstFrame: true });
    assert(message.encode().datagram.length < 2048);
});

test('notify addresses are absolute paths or abstract names that fit', () => {
    for (const good of ['/run/notify', '@x', `/${'x'.repeat(106)}`, `@${'x'.repeat(107)}`]) {
        assert(isNotifyAddress(good), good);
    }
    for (const bad of ['', '/', '@', 'relative', 'vsock:2:1', `/${'x'.repeat(107)}`, `@${'x'.repeat(108)}`]) {
        assert(!isNotifyAddress(bad), bad);
    }
});
