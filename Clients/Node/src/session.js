// SPDX-License-Identifier: Apache-2.0
// What is still to be said, and when.

import { GONE, SENT } from './channel.js';
import { ClientMessage } from './wire.js';

/** How long what could not be sent waits for the next attempt. */
export const RETRY_MILLISECONDS = 100;

/** Lets a burst pass, then a fixed number per second. */
class TokenBucket {
    #capacity;
    #perSecond;
    #tokens;
    #filled;

    constructor(capacity, perSecond, now) {
        this.#capacity = this.#tokens = capacity;
        this.#perSecond = perSecond;
        this.#filled = now;
    }

    admit(now) {
        const added = (Math.max(0, now - this.#filled) / 1000) * this.#perSecond;
        this.#tokens = Math.min(this.#capacity, this.#tokens + added);
        this.#filled = now;
        if (this.#tokens < 1) return false;
        this.#tokens -= 1;
        return true;
    }
}

/** The real time and its timers, which do not keep the process alive. */
export const systemClock = {
    now: () => performance.now(),
    after: (milliseconds, callback) => setTimeout(callback, milliseconds).unref(),
};

/** The app's side of the conversation. What is said before open() is kept until then. */
export class Session {
    #clock;
    #transport;
    #isOver = false;
    #outbox = new ClientMessage();
    /** Keeps a talkative app from crowding out its own answers. */
    #chatter;
    /** The same for what apps say more often and what travels many to a datagram: tasks. */
    #marks;
    /** True while something is kept for the next attempt, whose timer is set. */
    #isWaiting = false;

    constructor(clock = systemClock) {
        this.#clock = clock;
        this.#chatter = new TokenBucket(20, 10, clock.now());
        this.#marks = new TokenBucket(100, 50, clock.now());
    }

    get isSupervised() {
        return this.#transport !== undefined;
    }

    /** `transport` encodes and sends; without one, all is said to nobody from now on. */
    open(transport) {
        this.#transport = transport;
        if (transport === undefined) this.close();
        this.flush();
    }

    /** Nobody listens anymore. */
    close() {
        this.#transport = undefined;
        this.#isOver = true;
        this.#outbox = new ClientMessage();
    }

    /** Says what `change` puts into a message, now if possible. */
    say(change) {
        if (this.#isOver) return;
        change(this.#outbox);
        this.flush();
    }

    /** Sends what is to be said, or keeps it for the next attempt; `isDue` sends it however much has been said. */
    flush({ isDue = false } = {}) {
        if (this.#transport === undefined || this.#outbox.isEmpty) return;
        // What is due counts as talk too.
        const mayTalk = this.#mayTalk();
        if (!isDue && !mayTalk) {
            this.#wait();
            return;
        }
        while (this.#transport !== undefined && !this.#outbox.isEmpty) {
            const { datagram, rest } = this.#transport.encode(this.#outbox);
            // An empty datagram reads as the end of the conversation.
            const outcome = datagram.length === 0 ? SENT : this.#transport.send(datagram);
            if (outcome === GONE) {
                this.close();
            } else if (outcome === SENT) {
                this.#outbox = rest;
            } else {
                this.#wait();
                return;
            }
        }
    }

    /** False for a moment after much has been said. */
    #mayTalk() {
        if (this.#outbox.isUrgent) return true;
        // Those that had to wait go together, whatever has come in the meantime.
        if (this.#isWaiting) return false;
        return (this.#outbox.hasWords ? this.#chatter : this.#marks).admit(this.#clock.now());
    }

    #wait() {
        if (this.#isWaiting) return;
        this.#isWaiting = true;
        this.#clock.after(RETRY_MILLISECONDS, () => {
            this.#isWaiting = false;
            this.flush({ isDue: true });
        });
    }
}
