#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A service whose timer blocks the event loop: loadFeed() should use child_process.execFile, which does not wait.

import { execFileSync } from 'node:child_process';

import * as watchdog from '../src/index.js';

const FEED_SECONDS = 60;

function loadFeed() {
    execFileSync('sleep', [String(FEED_SECONDS)]);
}

watchdog.attach({ onTerminate: () => process.exit(0) });
watchdog.ready();
setTimeout(loadFeed, 500);
