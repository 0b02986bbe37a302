// SPDX-License-Identifier: Apache-2.0

/**
 * The program's side of supervision by watchdogd: says when it can be used, and proves that its event loop turns.
 *
 * Who listens is decided by the environment, and nothing needs checking: watchdogd (`WATCHDOG_CHANNEL`), a service
 * manager (`NOTIFY_SOCKET`), or nobody. Nothing blocks, and nothing here keeps the process alive. What is said before
 * attach() is kept until then. If the supervisor does not read fast enough, what could not be sent is kept and tried
 * again: of each kind of statement only the latest. Times are in milliseconds, as Node's own.
 */

/** Called on the event loop. A promise holds back what follows, but no answer to a ping. */
export type Handler = () => unknown;

/** Something for the program to handle. */
export interface Event {
    /** What has happened, such as `url`. */
    readonly kind: string;
    /** More about it in one line, whose meaning is between the sender and the app. */
    readonly payload: string;
}

/** To what the supervisor wants the launch to lead. */
export interface Launch {
    /** True when the app is launched into the background. */
    readonly isInBackground: boolean;
    /** The kind of the event for whose sake the app is launched; the event itself follows after ready(). */
    readonly eventKind: string | undefined;
}

/** Work that should go on in the background. */
export interface BackgroundTask {
    readonly name: string;
    /** True when the time for it is nearly over: end it now, or the program is killed. */
    readonly isExpired: boolean;
    /** Ends the task. A second call does nothing. */
    end(): void;
}

export interface AttachOptions {
    /** The program goes to the background and the foreground when it is told to, and handles events. */
    lifecycle?: boolean;
    /**
     * Called once when the program is asked to end, by SIGTERM or over the channel. With it, SIGTERM is taken over;
     * without it, SIGTERM does what it does and the request over the channel does nothing. The program is killed if it
     * has not ended within an allowance.
     */
    onTerminate?: Handler;
    /** The program has gone to the background. */
    onBackground?: Handler;
    /** The program has come to the foreground. */
    onForeground?: Handler;
    /** The time for background tasks is nearly over. Called after the handlers of the tasks. */
    onExpire?: Handler;
    /** There is an event to handle. */
    onEvent?: (event: Event) => unknown;
}

/** attach() was called before, or in a worker. */
export class AttachError extends Error {}

/**
 * Connects to the supervisor; from now on the event loop of the main thread answers pings.
 *
 * A state or an event counts as done when its handler has returned or its promise has settled. What comes before ready()
 * waits for that, except the request to end. What a handler throws is an uncaught exception.
 *
 * @throws {AttachError} when it was called before, or in a worker.
 * @throws {TypeError} for an unknown option, or a handler that is no function.
 */
export function attach(options?: AttachOptions): void;

/** True when attach() has found a supervisor that has not gone away since. */
export function isSupervised(): boolean;

/** To what the supervisor wants the launch to lead; known after attach(). */
export function launch(): Launch;

/** Says that the program can be used; its launch is over. */
export function ready(): void;

/** Says that there is something to see. Only the first call counts; it measures and changes no allowance. */
export function firstFrame(): void;

/** Says that the program does what it was launched for. Only the first call counts; it changes no allowance. */
export function useful(): void;

/**
 * Lets what is measured as the launch go on until the work has ended, such as loading what the first page shows.
 *
 * It changes the measurement, not the allowance. The first one begins before ready(), the others while another goes on;
 * each name is used once, and there are at most 16. One that does not count is done all the same.
 */
export function launchTask<Result>(name: string, work: () => Result | PromiseLike<Result>): Promise<Result>;

/** Says in one line what the program is doing, for people; 1,024 bytes count. An empty one takes it back. */
export function status(text: string): void;

/** Leaves a line that will stand in a report about this program, should there be one; 128 bytes count. */
export function summary(text: string): void;

/**
 * Asks for time, counted from now, for work that takes longer than the program is allowed.
 *
 * Call it again and again as the work goes on. watchdogd grants time only while the progress changes, and not without
 * end.
 *
 * @param progress differs from the last time only if the work has advanced, such as "412 of 1000 rows".
 */
export function extend(milliseconds: number, progress: string): void;

/**
 * Asks not to be suspended before a piece of work has ended, should the program go to the background meanwhile.
 *
 * It starts nothing. A program that has an open task when the time is over is killed.
 *
 * @param name what the work is, as a report names it; 128 bytes count.
 * @param onExpire called when the time is nearly over; it makes the task end at once.
 */
export function beginBackgroundTask(name: string, onExpire?: Handler): BackgroundTask;

/** The same around a function: the task ends when its result has settled. */
export function backgroundTask<Result>(
    name: string,
    work: (task: BackgroundTask) => Result | PromiseLike<Result>,
    onExpire?: Handler,
): Promise<Result>;

/** How long background tasks may go on, as an estimate; undefined when nothing limits it. */
export function backgroundMillisecondsRemaining(): number | undefined;

/** Says that the program has begun to end; no background task begins any more. */
export function stopping(): void;
