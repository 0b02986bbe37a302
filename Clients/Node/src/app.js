// SPDX-License-Identifier: Apache-2.0
// The supervisor's messages to the app, and how the app handles them.

import { Channel } from './channel.js';
import { takeFromEnvironment } from './environment.js';
import { Notifier } from './notify.js';
import { Session, systemClock } from './session.js';
import { BackgroundTasks, LaunchTasks } from './tasks.js';
import { decode, isForLifecycle } from './wire.js';

/** The most messages that wait for the end of the launch or of what is being done; the supervisor sends fewer. */
const WAITING_LIMIT = 1024;

/** Blocks the event loop at a test's request. */
function hangOnDemand(microseconds) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(microseconds) / 1000);
}

/** The state of one process in the eyes of its supervisor. */
export class App {
    #handlers = {};
    #hasLifecycle = false;
    #isEnding = false;
    #isStepping = false;
    #waiting = [];
    #lastTransition = 0n;
    #lastEvent = 0n;
    #allowsFaults = false;

    isAttached = false;
    isReady = false;
    launch = { isInBackground: false, eventKind: undefined };
    session;
    backgroundTasks;
    launchTasks;

    constructor(clock = systemClock) {
        this.session = new Session(clock);
        const say = (change) => this.session.say(change);
        this.backgroundTasks = new BackgroundTasks(say, () => clock.now());
        this.launchTasks = new LaunchTasks(say);
    }

    /** Finds the supervisor in the environment and speaks to it. */
    attach(handlers, hasLifecycle) {
        const configuration = takeFromEnvironment();
        // Ahead of hello: who hears that may ask for the end.
        if (handlers.onTerminate !== undefined) process.on('SIGTERM', () => this.#terminate());
        if (configuration.channel !== undefined) {
            const channel = Channel.open(
                configuration.channel, (datagram) => this.receive(datagram), () => this.#disconnect());
            if (channel === undefined) {
                process.emitWarning(`cannot use the channel with Node ${process.version}`, 'WatchdogWarning');
            }
            this.#allowsFaults = configuration.allowsFaults;
            this.open(channel, handlers, hasLifecycle, configuration.launch);
        } else if (configuration.isNotifying) {
            this.open(new Notifier(() => this.session.flush()), handlers, hasLifecycle, configuration.launch);
            this.#push(configuration.pushMilliseconds);
        } else {
            this.open(undefined, handlers, hasLifecycle, configuration.launch);
        }
        process.on('exit', () => this.session.flush({ isDue: true }));
    }

    open(transport, handlers, hasLifecycle, launch = this.launch) {
        this.isAttached = true;
        this.#handlers = handlers;
        this.#hasLifecycle = hasLifecycle;
        this.launch = launch;
        this.backgroundTasks.setForeground(!launch.isInBackground);
        if (transport !== undefined) {
            this.session.say((message) => {
                message.hello = hasLifecycle;
                message.allowsFaults = this.#allowsFaults;
            });
        }
        this.session.open(transport);
    }

    #push(milliseconds) {
        if (milliseconds === undefined) return;
        const push = () => this.session.say((message) => (message.isAlive = true));
        push();
        setInterval(push, milliseconds).unref();
    }

    // MARK: Saying

    setReady() {
        this.isReady = this.launchTasks.isLaunched = true;
        this.session.say((message) => (message.isReady = true));
        this.#goOn();
    }

    beginBackgroundTask(name, onExpire) {
        const task = this.backgroundTasks.begin(name, onExpire);
        if (onExpire !== undefined && this.backgroundTasks.isExpired) {
            // There is no time left to give: it has to end at once, but not before the caller has it.
            setImmediate(() => {
                const handler = task.takeHandler();
                if (handler === undefined) return;
                this.#waiting.push({ handlers: [handler] });
                this.#goOn();
            });
        }
        return task;
    }

    // MARK: Being told

    /** One datagram of the supervisor. */
    receive(datagram) {
        const message = decode(datagram);
        if (message.ping !== undefined) this.session.say((said) => (said.pong = message.ping));
        if (this.#hasLifecycle && isForLifecycle(message) && this.#waiting.length < WAITING_LIMIT) {
            this.#waiting.push(message);
        }
        if (message.hangMicroseconds !== undefined && this.#allowsFaults) hangOnDemand(message.hangMicroseconds);
        if (message.isTerminating) this.#terminate();
        this.#goOn();
    }

    #disconnect() {
        this.session.close();
        this.backgroundTasks.forgetTime();
    }

    /** Calls the handler the first time: the request comes over the channel and as SIGTERM. */
    #terminate() {
        if (this.#isEnding || this.#handlers.onTerminate === undefined) return;
        this.#isEnding = true;
        this.#call(this.#handlers.onTerminate);
    }

    /** Does one step after the other; what a step awaits holds back the next ones, but no answer. */
    async #goOn() {
        if (this.#isStepping) return;
        this.#isStepping = true;
        while (this.isReady && this.#waiting.length > 0) {
            const waiting = this.#waiting.shift();
            for (const step of waiting.handlers === undefined ? this.#steps(waiting) : [waiting]) {
                const pending = step.handlers.map((handler) => this.#call(handler)).filter(isThenable);
                if (pending.length > 0) await Promise.allSettled(pending);
                if (step.done !== undefined) this.session.say(step.done);
            }
        }
        this.#isStepping = false;
    }

    /** Calls a handler; what it throws is an uncaught exception, as with any listener, and takes nothing along. */
    #call(handler) {
        try {
            const result = handler();
            if (isThenable(result)) result.then(undefined, raise);
            return result;
        } catch (error) {
            raise(error);
            return undefined;
        }
    }

    #steps(message) {
        const steps = [];
        // What is to happen first comes first: how long the background lasts is known when it begins.
        if (message.backgroundMicroseconds !== undefined) this.backgroundTasks.setTime(message.backgroundMicroseconds);
        if (message.transition !== undefined) steps.push(this.#transition(message.transition));
        if (message.isExpiring) steps.push(this.#expiration());
        if (message.event !== undefined) steps.push(this.#event(message.event));
        return steps;
    }

    #transition({ state, id }) {
        const handlers = [];
        if (id > this.#lastTransition) {
            this.#lastTransition = id;
            const isForeground = state === 'foreground';
            if (isForeground !== this.backgroundTasks.isForeground) {
                const { onForeground, onBackground } = this.#handlers;
                handlers.push(() => {
                    this.backgroundTasks.setForeground(isForeground);
                    return (isForeground ? onForeground : onBackground)?.();
                });
            }
        }
        const latest = this.#lastTransition;
        return { handlers, done: (message) => (message.stateDone = latest) };
    }

    #expiration() {
        const handler = () => {
            if (this.backgroundTasks.isForeground) return undefined;
            const { onExpire } = this.#handlers;
            const handlers = [...this.backgroundTasks.expire(), ...(onExpire === undefined ? [] : [onExpire])];
            return Promise.all(handlers.map((each) => this.#call(each)));
        };
        return { handlers: [handler] };
    }

    #event({ kind, id, payload, sender }) {
        const handlers = [];
        let isLost = false;
        if (id > this.#lastEvent) {
            this.#lastEvent = id;
            const { onEvent } = this.#handlers;
            isLost = onEvent === undefined;
            if (!isLost) handlers.push(() => onEvent({ kind, payload, sender }));
        }
        const latest = this.#lastEvent;
        const done = (message) => {
            if (isLost) message.eventsLost.push(latest);
            message.eventDone = latest;
        };
        return { handlers, done };
    }
}

function isThenable(value) {
    return typeof value?.then === 'function';
}

function raise(error) {
    setImmediate(() => {
        throw error;
    });
}
