// SPDX-License-Identifier: Apache-2.0
// Background tasks, and the tasks that extend what is measured as the launch.

/** The maximum number of tasks that can extend a launch. */
const LAUNCH_TASK_LIMIT = 16;

/** Work that should go on in the background. */
export class BackgroundTask {
    #tasks;
    #id;
    #onExpire;

    constructor(tasks, id, name, onExpire) {
        this.#tasks = tasks;
        this.#id = id;
        this.#onExpire = onExpire;
        this.name = name;
    }

    get isExpired() {
        return this.#tasks.isExpired;
    }

    end() {
        this.#tasks.end(this.#id);
    }

    /** The handler, the first time. */
    takeHandler() {
        const handler = this.#onExpire;
        this.#onExpire = undefined;
        return handler;
    }
}

/** The open background tasks of the process, and the time they have. */
export class BackgroundTasks {
    #say;
    #now;
    #lastId = 0;
    #open = new Map();
    #deadline;
    /** True from the supervisor's word that the time is nearly over until the app is in the foreground again. */
    isExpired = false;
    isForeground = true;
    isClosed = false;

    constructor(say, now) {
        this.#say = say;
        this.#now = now;
    }

    begin(name, onExpire) {
        if (this.isClosed) return new BackgroundTask(this, 0, name, undefined);
        this.#lastId += 1;
        const id = this.#lastId;
        const task = new BackgroundTask(this, id, name, onExpire);
        this.#open.set(id, task);
        this.#say((message) => message.tasksBegun.push({ id, name }));
        return task;
    }

    end(id) {
        if (this.#open.delete(id)) this.#say((message) => message.endTask(id));
    }

    /** Undefined when nothing limits it. */
    get millisecondsRemaining() {
        if (this.isForeground || this.#deadline === undefined) return undefined;
        return Math.max(0, this.#deadline - this.#now());
    }

    setForeground(isForeground) {
        this.isForeground = isForeground;
        if (!isForeground) return;
        this.isExpired = false;
        this.#deadline = undefined;
    }

    setTime(microseconds) {
        this.#deadline = this.#now() + Number(microseconds) / 1000;
    }

    forgetTime() {
        this.#deadline = undefined;
    }

    /** The handlers of all open tasks, in the order of their beginnings; each is handed out once. */
    expire() {
        if (this.isForeground) return [];
        this.isExpired = true;
        const handlers = [];
        for (const [id, task] of this.#open) {
            const handler = task.takeHandler();
            // A task that an earlier handler has ended is left out.
            if (handler !== undefined) handlers.push(() => (this.#open.has(id) ? handler() : undefined));
        }
        return handlers;
    }
}

/** The tasks that extend what is measured as the launch. */
export class LaunchTasks {
    #say;
    #open = new Set();
    #seen = new Set();
    isLaunched = false;

    constructor(say) {
        this.#say = say;
    }

    /** False when the task does not count. */
    begin(name) {
        const isLate = this.isLaunched && this.#open.size === 0;
        if (isLate || this.#seen.has(name) || this.#seen.size >= LAUNCH_TASK_LIMIT) return false;
        this.#seen.add(name);
        this.#open.add(name);
        this.#say((message) => message.launchTasksBegun.push(name));
        return true;
    }

    end(name) {
        if (this.#open.delete(name)) this.#say((message) => message.launchTasksEnded.push(name));
    }
}
