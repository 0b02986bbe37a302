// SPDX-License-Identifier: Apache-2.0
// Who supervises this process, and how it is reached.

import fs from 'node:fs';

import { LARGEST_MICROSECONDS, NAME_LIMIT_BYTES, cut, isNotifyAddress, number } from './wire.js';

const LARGEST_DESCRIPTOR = 2n ** 31n - 1n;
/** setTimeout() takes a longer time for 1 ms. */
const LONGEST_TIMER_MILLISECONDS = 2 ** 31 - 1;

/**
 * Reads what the supervisor left in the environment, and takes the channel and what belongs to it out of it.
 *
 * Programs that this one starts must not mistake it for theirs. What is unusable counts as absent.
 */
export function takeFromEnvironment(environment = process.env) {
    const take = (name) => {
        const value = environment[name];
        delete environment[name];
        return value;
    };
    const channel = number(take('WATCHDOG_CHANNEL') ?? '', 0n, LARGEST_DESCRIPTOR);
    const state = take('WATCHDOG_STATE');
    const event = take('WATCHDOG_EVENT');
    const faults = take('WATCHDOG_FAULTS');
    const result = {
        channel: undefined,
        isNotifying: false,
        pushMilliseconds: undefined,
        launch: { isInBackground: false, eventKind: undefined },
        allowsFaults: false,
    };
    if (channel !== undefined && isChannel(Number(channel))) {
        result.channel = Number(channel);
        result.allowsFaults = faults === '1';
        result.launch = {
            isInBackground: state === 'background',
            eventKind: event === undefined ? undefined : cut(event, NAME_LIMIT_BYTES),
        };
        return result;
    }
    result.isNotifying = isNotifyAddress(environment.NOTIFY_SOCKET ?? '');
    if (result.isNotifying) result.pushMilliseconds = pushMilliseconds(environment);
    return result;
}

/** Half of the allowance, as sd_watchdog_enabled(3) recommends; undefined where no sign of life is requested. */
function pushMilliseconds(environment) {
    const microseconds = number(environment.WATCHDOG_USEC ?? '', 1n, LARGEST_MICROSECONDS);
    const forProcess = environment.WATCHDOG_PID;
    if (microseconds === undefined) return undefined;
    if (forProcess !== undefined && number(forProcess) !== BigInt(process.pid)) return undefined;
    return Math.min(Number(microseconds) / 2000, LONGEST_TIMER_MILLISECONDS);
}

/**
 * True for what a supervisor passes: a connected AF_UNIX socket of type SOCK_SEQPACKET.
 *
 * Anything else belongs to somebody else and is left alone. Node has no getsockopt(2); /proc knows.
 */
export function isChannel(descriptor) {
    try {
        const inode = /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/self/fd/${descriptor}`))?.[1];
        if (inode === undefined) return false;
        for (const line of fs.readFileSync('/proc/self/net/unix', 'latin1').split('\n')) {
            // Num RefCount Protocol Flags Type St Inode Path: unix_seq_show() of the kernel. 5 is SOCK_SEQPACKET, 3 is
            // SS_CONNECTED.
            const columns = line.trim().split(/ +/);
            if (columns[6] === inode) return columns[4] === '0005' && columns[5] === '03';
        }
        // A supervisor in another network namespace has made it. Only Unix sockets have this line (Linux 5.11).
        return /^scm_fds:/m.test(fs.readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'));
    } catch {
        return false;
    }
}
