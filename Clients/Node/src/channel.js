// SPDX-License-Identifier: Apache-2.0
// The inherited socket on the event loop.

import fs from 'node:fs';
import net from 'node:net';

import { DATAGRAM_LIMIT_BYTES } from './wire.js';

/** The outcome of sending. */
export const SENT = 'sent';
export const FULL = 'full';
export const GONE = 'gone';

const FULL_CODES = new Set(['EAGAIN', 'ENOBUFS', 'ENOMEM']);
/** A path below a file: connecting to it fails without anybody noticing. */
const NOWHERE = '/dev/null/watchdogd';

/**
 * The class of Node's stream handles for Unix sockets.
 *
 * `new net.Socket({ fd })` refuses SOCK_SEQPACKET, whose type it cannot guess; the handle below it does not care.
 * fs.read() would take a thread of the pool for good, and process.exit() would wait for that thread forever.
 */
function pipeHandleClass() {
    const socket = new net.Socket();
    socket.on('error', () => {});
    try {
        socket.connect({ path: NOWHERE });
        return socket._handle?.constructor;
    } finally {
        socket.destroy();
    }
}

/** One end of the channel. Nothing blocks, and it does not keep the process alive. */
export class Channel {
    #descriptor;
    #socket;

    /** Takes over the descriptor; undefined when this Node cannot. */
    static open(descriptor, onDatagram, onClosed) {
        const channel = new Channel();
        return channel.#open(descriptor, onDatagram, onClosed) ? channel : undefined;
    }

    #open(descriptor, onDatagram, onClosed) {
        const Pipe = pipeHandleClass();
        if (typeof Pipe?.prototype?.open !== 'function') return false;
        const SOCKET = 0;
        const handle = new Pipe(SOCKET);
        // It also sets O_NONBLOCK, of which send() makes use.
        handle.open(descriptor);
        if (handle.fd !== descriptor) return false;
        this.#descriptor = descriptor;
        this.#socket = new net.Socket({
            handle,
            onread: {
                // One byte more than a datagram and its NUL may have, so that decoding can tell an overlong one.
                buffer: Buffer.allocUnsafe(DATAGRAM_LIMIT_BYTES + 2),
                callback: (length, buffer) => {
                    onDatagram(buffer.subarray(0, length));
                    return true;
                },
            },
        });
        this.#socket.on('error', () => {});
        this.#socket.on('close', () => {
            this.#descriptor = undefined;
            onClosed();
        });
        this.#socket.unref();
        return true;
    }

    encode(message) {
        return message.encode();
    }

    /** Sends a datagram at once, or not at all: the stream would merge those that wait. */
    send(datagram) {
        if (this.#descriptor === undefined || this.#socket.destroyed) return GONE;
        try {
            // write(2). Node ignores SIGPIPE.
            fs.writeSync(this.#descriptor, datagram);
            return SENT;
        } catch (error) {
            return FULL_CODES.has(error.code) ? FULL : GONE;
        }
    }
}
