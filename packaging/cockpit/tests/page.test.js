// SPDX-License-Identifier: Apache-2.0
// The page's pure functions: framing, formats, metrics and scales.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bars, cpuShare, quantile, readMetrics, ticks } from '../watchdogd/metrics.js';
import { ago, brief, bytes, matches, measured, owed, percent, roughly, shown, sinceOf, stateOf, tally } from '../watchdogd/text.js';
import { DaemonError, ReplyReader, backoff, encodeCall, parameters, trouble } from '../watchdogd/wire.js';

const encode = (text) => new TextEncoder().encode(text);

test('a call is JSON with a NUL byte at its end', () => {
    const text = new TextDecoder().decode(encodeCall('Describe', { name: 'é' }));
    assert.equal(text, '{"method":"org.watchdogd.Supervisor.Describe","parameters":{"name":"é"}}\0');
    assert.equal(JSON.parse(new TextDecoder().decode(encodeCall('Monitor', {}, true)).slice(0, -1)).more, true);
});

test('replies are read however they are cut, even within a character', () => {
    const replies = [{ parameters: { name: 'größe 🐕' } }, { continues: true }, {}];
    const whole = encode(replies.map((reply) => `${JSON.stringify(reply)}\0`).join(''));
    for (let size = 1; size <= whole.length; size += 1) {
        const reader = new ReplyReader();
        const found = [];
        for (let start = 0; start < whole.length; start += size) {
            // One buffer for all chunks, as a channel may have.
            const chunk = whole.slice(start, start + size);
            found.push(...reader.read(chunk));
            chunk.fill(0x20);
        }
        assert.deepEqual(found, replies, `chunks of ${size} bytes`);
    }
});

test('a reply is as long as it may be, and not one byte longer', () => {
    const reply = encode('{"a":"12345678"}');
    assert.equal(new ReplyReader(reply.length).read(new Uint8Array([...reply, 0])).length, 1);
    assert.throws(() => new ReplyReader(reply.length - 1).read(reply), /too long/u);
    const reader = new ReplyReader(reply.length);
    for (let count = 0; count < 3; count += 1) assert.equal(reader.read(new Uint8Array([...reply, 0])).length, 1);
});

test('what is not an object is refused', () => {
    for (const text of ['[]', 'null', '1', '"text"', '{', '']) {
        assert.throws(() => new ReplyReader().read(encode(`${text}\0`)), undefined, text);
    }
    assert.throws(() => new ReplyReader().read(encode(`${'['.repeat(1e6)}\0`)));
});

test('errors are sentences', () => {
    assert.deepEqual(parameters({ parameters: { pid: 1 } }), { pid: 1 });
    assert.deepEqual(parameters({ parameters: null }), {});
    const refused = { error: 'org.watchdogd.Supervisor.NotPermitted', parameters: { right: 'act', user: 7, owner: 1000 } };
    assert.throws(() => parameters(refused), (error) => error instanceof DaemonError && error.name === 'NotPermitted'
        && error.message.startsWith('Only root and user 1000 may launch'));
    const wrong = { error: 'org.watchdogd.Supervisor.NoSuchApp', parameters: { name: 'photo', suggestion: 'photos' } };
    assert.throws(() => parameters(wrong), { message: 'There is no app "photo"; the nearest name is "photos".' });
    assert.throws(() => parameters({ error: 'org.varlink.service.MethodNotFound' }), /answered with MethodNotFound/u);
    assert.equal(trouble('not-found', { startCommand: 'start it' }).command, 'start it');
    assert.equal(trouble('refused', {}, 'It is full.').text, 'It is full.');
    assert.match(trouble('access-denied', { socket: '/s' }).text, /may not connect to \/s/u);
});

test('attempts to connect come less often, up to a limit', () => {
    assert.deepEqual([0, 1, 2, 4, 5, 1000].map(backoff), [500, 1000, 2000, 8000, 15000, 15000]);
});

test('durations', () => {
    const cases = [
        [0, '0 µs'], [999, '999 µs'], [1000, '1.00 ms'], [9994, '9.99 ms'], [9995, '10 ms'], [999499, '999 ms'],
        [999500, '1.00 s'], [20e6, '20.00 s'], [119.99e6, '119.99 s'], [125e6, '2 min 5 s'], [-5, '0 µs'],
    ];
    for (const [time, text] of cases) assert.equal(measured(time), text);
    assert.deepEqual([0, 59e6, 60e6, 7500e6, 273600e6, 86400e6 + 5e6].map(roughly),
        ['0 s', '59 s', '1 min', '2 h 5 min', '3 d 4 h', '1 d']);
    assert.deepEqual([0, 500, 16e3, 1.5e6, 600e6].map(brief), ['0', '500 µs', '16 ms', '1.5 s', '10 min']);
    assert.deepEqual([ago(1e6, 1.9e6), ago(1e6, 62e6), ago(5e6, 1e6)], ['now', '1 min 1 s ago', 'now']);
});

test('numbers', () => {
    assert.deepEqual([0, 812, 4608, 45e6, 3.3e9, 5e12].map(bytes),
        ['0 B', '812 B', '4.5 KiB', '42.9 MiB', '3.1 GiB', '4.5 TiB']);
    assert.deepEqual([0, 0.004, 0.0994, 0.12, 2.5].map(percent), ['0 %', '0.4 %', '9.9 %', '12 %', '250 %']);
});

test('texts are one line of bounded length, and hide nothing', () => {
    assert.equal(shown('a\u202eb\n\u0007c\u200f'), 'a\ufffdb\ufffd\ufffdc\ufffd');
    assert.equal(shown('<img src=x>'), '<img src=x>');
    assert.equal(shown('🐕'.repeat(10), 4), `${'🐕'.repeat(4)}…`);
    assert.equal(shown('abcd', 4), 'abcd');
    assert.equal(shown(undefined), 'undefined');
    assert.equal(shown('x'.repeat(1e6)).length, 401);
});

test('states have words, and unknown ones keep theirs', () => {
    assert.deepEqual(stateOf({ state: 'running', isAnswering: true }), { word: 'running', sign: '●', tone: 'good' });
    assert.equal(stateOf({ state: 'running' }).tone, 'good');
    assert.equal(stateOf({ state: 'running', isAnswering: false }).word, 'not answering');
    const hung = { state: 'running', silence: { reason: 'probes', sinceUSec: 5, failedProbes: 2, neededProbes: 3 } };
    assert.deepEqual(stateOf(hung), { word: 'not answering', sign: '▲', tone: 'bad' });
    assert.deepEqual([owed(hung), sinceOf(hung), sinceOf({ sinceUSec: 1 })], ['2 of 3 probes failed', 5, 1]);
    const stopped = { state: 'launching', silence: { reason: 'stopped', sinceUSec: 5 } };
    assert.deepEqual([stateOf(stopped).word, owed(stopped)], ['stopped by a signal', undefined]);
    assert.equal(stateOf({ state: 'running', silence: { reason: 'push', isInTime: true } }).tone, 'warning');
    assert.deepEqual(stateOf({ state: 'constructor' }), { word: 'constructor', sign: '?', tone: 'quiet' });
});

test('the filter finds words of all that is shown', () => {
    const app = { name: 'photos', state: 'failed', lastIncident: { summary: 's', verdict: 'Main thread blocked in futex' } };
    for (const filter of ['', 'PHOTO', 'futex failed', 'blocked']) assert.ok(matches(app, filter), filter);
    for (const filter of ['redis', 'photos running', '.*']) assert.ok(!matches(app, filter), filter);
    assert.equal(tally([app, app, { state: 'running' }]), '3 apps: 2 failed, 1 running');
    assert.equal(tally([]), '0 apps');
});

const TEXT = [
    '# TYPE watchdogd_app_cpu_seconds_total counter\nwatchdogd_app_cpu_seconds_total{app="a",mode="user"} 1.5\n',
    'watchdogd_app_cpu_seconds_total{app="a",mode="system"} 0.5\nwatchdogd_app_memory_bytes{app="a"} 4096\n',
    'watchdogd_app_ping_duration_seconds_bucket{app="a",le="0.016"} 99\n',
    'watchdogd_app_ping_duration_seconds_bucket{app="a",le="0.001"} 50\n',
    'watchdogd_app_ping_duration_seconds_bucket{app="a",le="+Inf"} 100\nwatchdogd_app_memory_bytes{app="b"} NaN\n',
    'watchdogd_app_last_answer_time_seconds{app="a"} 0\nwatchdogd_app_info{app="q\\"\\\\}",version="1"} 1\ngarbage{\n',
];

test('metrics of apps', () => {
    const apps = readMetrics(TEXT);
    assert.deepEqual(Array.from(apps.keys()), ['a', 'q"\\}']);
    const { cpuSeconds, memoryBytes, lastAnswerUSec, pings } = apps.get('a');
    assert.deepEqual([cpuSeconds, memoryBytes, lastAnswerUSec, pings.length], [2, 4096, undefined, 3]);
    assert.equal(apps.get('q"\\}').version, '1');
});

test('the answers to probes count where no ping was ever answered', () => {
    const text = (pings) => [`watchdogd_app_ping_duration_seconds_bucket{app="a",le="+Inf"} ${pings}\n`,
        'watchdogd_app_probe_duration_seconds_bucket{app="a",le="0.01"} 7\n'];
    assert.deepEqual(readMetrics(text(0)).get('a').pings, [{ limitUSec: 10000, count: 7 }]);
    assert.deepEqual(readMetrics(text(1)).get('a').pings, [{ limitUSec: Infinity, count: 1 }]);
});

test('quantiles of what was counted since', () => {
    const { pings } = readMetrics(TEXT).get('a');
    assert.deepEqual([0.5, 0.51, 0.99, 1].map((share) => quantile(pings, [], share)), [1000, 16000, 16000, Infinity]);
    assert.equal(quantile(pings, pings, 0.5), undefined);
    assert.equal(quantile([], [], 0.5), undefined);
    const earlier = [{ limitUSec: 1000, count: 50 }, { limitUSec: 16000, count: 98 }, { limitUSec: Infinity, count: 98 }];
    assert.equal(quantile(pings, earlier, 0.5), 16000);
});

test('shares of a CPU', () => {
    assert.equal(cpuShare({ cpuSeconds: 3 }, { cpuSeconds: 2 }, 4), 0.25);
    for (const [now, before] of [[{ cpuSeconds: 1 }, { cpuSeconds: 2 }], [{}, { cpuSeconds: 2 }], [undefined, undefined]]) {
        assert.equal(cpuShare(now, before, 4), undefined);
    }
});

test('marks of an axis are round, few, and reach the end', () => {
    assert.deepEqual(ticks(7), [0, 2, 4, 6, 8]);
    assert.deepEqual(ticks(10), [0, 2, 4, 6, 8, 10]);
    for (const wrong of [0, -1, NaN, Infinity, undefined]) assert.deepEqual(ticks(wrong), [0, 1]);
    for (let maximum = 1; maximum < 1e9; maximum *= 1.37) {
        const marks = ticks(maximum);
        assert.ok(marks.length <= 6 && marks.at(-1) >= maximum * (1 - 1e-9), `${maximum}: ${marks}`);
        assert.ok(marks.at(-2) < maximum, `${maximum}: ${marks}`);
    }
});

test('a histogram counts every launch once', () => {
    const groups = [
        { histogram: [{ fromUSec: 0, toUSec: 10, count: 2 }, { fromUSec: 90, toUSec: 100, count: 3 }] }, {},
        { histogram: [{ fromUSec: 50, toUSec: 60, count: 4 }] },
    ];
    const { counts, width, marks } = bars(groups, 10);
    assert.deepEqual([counts, width, marks.at(-1)], [[2, 0, 0, 0, 0, 4, 0, 0, 0, 3], 10, 100]);
    assert.equal(bars([{ histogram: [] }]), undefined);
});
