// SPDX-License-Identifier: Apache-2.0
// Varlink on the wire, and what errors mean. Pure functions: the tests run them without a browser.

export const INTERFACE = 'org.watchdogd.Supervisor';

/** The longest reply that is read; a list of ten thousand apps is a tenth of it. */
export const LONGEST_REPLY = 32 << 20;

/** A call as it is sent: a JSON object and a NUL byte. */
export function encodeCall(method, parameters = {}, hasMoreReplies = false) {
    const call = { method: `${INTERFACE}.${method}`, parameters };
    if (hasMoreReplies) call.more = true;
    return new TextEncoder().encode(`${JSON.stringify(call)}\0`);
}

/** Takes bytes as they arrive and returns the replies that are complete. */
export class ReplyReader {
    #chunks = [];
    #length = 0;
    #limit;

    constructor(limit = LONGEST_REPLY) {
        this.#limit = limit;
    }

    /**
     * Returns the replies that end in these bytes.
     *
     * Throws if a reply is too long or is not a JSON object; what follows cannot be understood then.
     */
    read(bytes) {
        const replies = [];
        let start = 0;
        for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, start)) {
            this.#keep(bytes.subarray(start, end));
            replies.push(this.#take());
            start = end + 1;
        }
        this.#keep(bytes.subarray(start));
        return replies;
    }

    #keep(bytes) {
        this.#length += bytes.length;
        if (this.#length > this.#limit) throw new Error('a reply is too long');
        // The channel may use its buffer again.
        if (bytes.length > 0) this.#chunks.push(bytes.slice());
    }

    #take() {
        const bytes = new Uint8Array(this.#length);
        let offset = 0;
        for (const chunk of this.#chunks) {
            bytes.set(chunk, offset);
            offset += chunk.length;
        }
        this.#chunks = [];
        this.#length = 0;
        const reply = JSON.parse(new TextDecoder().decode(bytes));
        if (typeof reply !== 'object' || reply === null || Array.isArray(reply)) {
            throw new Error('a reply is not an object');
        }
        return reply;
    }
}

/** An error that the daemon answered with. */
export class DaemonError extends Error {
    constructor(name, parameters) {
        super(sentence(name, parameters));
        /** Without the interface: "NotPermitted". */
        this.name = name;
        this.parameters = parameters;
    }
}

/** The parameters of a reply; throws a DaemonError if the daemon refused the call. */
export function parameters(reply) {
    const values = typeof reply.parameters === 'object' && reply.parameters !== null ? reply.parameters : {};
    if (typeof reply.error !== 'string') return values;
    throw new DaemonError(reply.error.split('.').pop(), values);
}

function sentence(name, { name: app, reason, limit, owner, right, diagnostics, suggestion }) {
    switch (name) {
        case 'NoSuchApp':
            return `There is no app "${app}"${suggestion ? `; the nearest name is "${suggestion}"` : ''}.`;
        case 'NotPermitted': {
            const who = owner === 0 ? 'root' : `root and user ${owner}`;
            const deed = right === 'act' ? 'launch, restart and terminate these apps' : 'see this';
            return `Only ${who} may ${deed}. To act as root, turn on administrative access in Cockpit.`;
        }
        case 'AlreadyRunning': return `${app} is already running.`;
        case 'NotRunning': return `${app} is not running.`;
        case 'Unkillable': return `Processes of ${app} survived SIGKILL; no other instance is started beside them.`;
        case 'LaunchFailed': return `${app} was not launched: ${reason}`;
        case 'CaptureFailed': return `The stacks of ${app} were not captured: ${reason}`;
        case 'Refused': return `${app} was not asked: ${reason}`;
        case 'ShuttingDown': return 'watchdogd is shutting down.';
        case 'TooManyConnections': return `watchdogd already has ${limit} connections from you and accepts no more.`;
        case 'InvalidConfiguration': {
            const first = Array.isArray(diagnostics) && diagnostics[0];
            return `The configuration is invalid${first ? `: ${diagnosis(first)}` : '.'}`;
        }
        default: return `watchdogd answered with ${name}${reason ? `: ${reason}` : ''}.`;
    }
}

/** A diagnostic of a configuration file in one line, as `watchdogd check` prints it. */
export function diagnosis({ file, line, column, message, suggestion }) {
    const place = [file, line, column].filter((part) => part !== undefined).join(':');
    return `${place}: ${message}${suggestion ? `; did you mean "${suggestion}"?` : ''}`;
}

/** What is wrong with a connection, by Cockpit's word for it or by what the daemon said, and what to do. */
export function trouble(problem, place, refusal) {
    switch (problem) {
        case 'refused': return { text: refusal, advice: 'To see its state:', command: place.statusCommand };
        case 'not-found':
            return { text: 'watchdogd is not running.', advice: 'Start it with:', command: place.startCommand };
        case 'access-denied':
            return {
                text: `You may not connect to ${place.socket}.`,
                advice: 'Turn on administrative access at the top of this page, or ask an administrator.',
            };
        case 'timeout':
            return { text: 'watchdogd does not answer.', advice: 'To see its state:', command: place.statusCommand };
        case 'protocol-error':
            return {
                text: `The program that answers at ${place.socket} is not watchdogd, or is a later version.`,
                advice: 'To see its state:', command: place.statusCommand,
            };
        default:
            return { text: 'The connection to watchdogd ended.', advice: 'To see why:', command: place.statusCommand };
    }
}

/** Milliseconds until the next attempt to connect: 0.5 s, then twice as long each time, up to 15 s. */
export function backoff(attempt) {
    return Math.min(15000, 500 * 2 ** Math.min(attempt, 10));
}
