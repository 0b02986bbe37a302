// SPDX-License-Identifier: Apache-2.0
// The program's side of supervision by watchdogd; index.d.ts says what each function guarantees.

import { isMainThread } from 'node:worker_threads';

import { App } from './app.js';
import { LARGEST_MICROSECONDS } from './wire.js';

const HANDLERS = ['onTerminate', 'onBackground', 'onForeground', 'onExpire', 'onEvent'];

const app = new App();
let hasShownFrame = false;
let isUsefulSaid = false;

export class AttachError extends Error {
    name = 'AttachError';
}

export function attach(options = {}) {
    for (const [name, value] of Object.entries(options)) {
        if (name === 'lifecycle') continue;
        if (!HANDLERS.includes(name)) {
            throw new TypeError(`watchdogd: unknown option '${name}'; attach() knows lifecycle, ${HANDLERS.join(', ')}`);
        }
        mustBeFunction(name, value);
    }
    if (!isMainThread) throw new AttachError('watchdogd: attach() belongs to the main thread, not to a worker');
    if (app.isAttached) throw new AttachError('watchdogd: attach() was called before');
    const { lifecycle = false, ...handlers } = options;
    app.attach(handlers, Boolean(lifecycle));
}

export function isSupervised() {
    return app.session.isSupervised;
}

export function launch() {
    return { ...app.launch };
}

export function ready() {
    app.setReady();
}

export function firstFrame() {
    if (hasShownFrame) return;
    hasShownFrame = true;
    app.session.say((message) => (message.isFirstFrame = true));
}

export function useful() {
    if (isUsefulSaid) return;
    isUsefulSaid = true;
    app.session.say((message) => (message.isUseful = true));
}

export async function launchTask(name, work) {
    const text = String(name);
    const counts = app.launchTasks.begin(text);
    try {
        return await work();
    } finally {
        if (counts) app.launchTasks.end(text);
    }
}

export function status(text) {
    const line = String(text);
    app.session.say((message) => (message.status = line));
}

export function summary(text) {
    const line = String(text);
    app.session.say((message) => (message.summary = line));
}

export function extend(milliseconds, progress) {
    if (typeof milliseconds !== 'number' || Number.isNaN(milliseconds)) {
        throw new TypeError('watchdogd: extend() takes a number of milliseconds and what the work has come to');
    }
    const largest = Number(LARGEST_MICROSECONDS / 1000n) - 1024;
    const microseconds = BigInt(Math.ceil(Math.min(Math.max(milliseconds, 0.001), largest) * 1000));
    const token = String(progress);
    app.session.say((message) => {
        message.extensionMicroseconds = microseconds > LARGEST_MICROSECONDS ? LARGEST_MICROSECONDS : microseconds;
        message.progress = token;
    });
}

export function beginBackgroundTask(name, onExpire) {
    mustBeFunction('onExpire', onExpire);
    return app.beginBackgroundTask(String(name), onExpire);
}

export async function backgroundTask(name, work, onExpire) {
    const task = beginBackgroundTask(name, onExpire);
    try {
        return await work(task);
    } finally {
        task.end();
    }
}

export function backgroundMillisecondsRemaining() {
    return app.backgroundTasks.millisecondsRemaining;
}

export function stopping() {
    app.backgroundTasks.isClosed = true;
    app.session.say((message) => (message.isStopping = true));
}

function mustBeFunction(name, value) {
    if (value === undefined || typeof value === 'function') return;
    throw new TypeError(`watchdogd: ${name} must be a function, not ${typeof value}`);
}
