// SPDX-License-Identifier: Apache-2.0

/**
 * The program's side of supervision by watchdogd: reports when it can be used, and proves that its event loop runs.
 *
 * The environment decides who listens: watchdogd (`WATCHDOG_CHANNEL`), a service manager (`NOTIFY_SOCKET`), or nobody.
 * Nothing here fails or needs checking, nothing blocks, and nothing keeps the process alive. The library keeps messages
 * from before attach() until then. If the supervisor does not read fast enough, the library keeps the latest message of
 * each kind and sends it later. Times are in milliseconds, like Node's own.
 */

/** Called on the event loop. A promise delays the handlers that follow, but no answer to a ping. */
export type Handler = () => unknown;

/** Something for the program to handle. */
export interface Event {
    /** What has happened, such as `url`. */
    readonly kind: string;
    /** Details in one line, which only the sender and the program interpret. */
    readonly payload: string;
    /** The app that asked for it, as the supervisor determined; undefined if somebody else did. */
    readonly sender: string | undefined;
}

/** Why the program is launched, and into which state. */
export interface Launch {
    /** True if the program is launched into the background. */
    readonly isInBackground: boolean;
    /** The kind of the event that the program is launched to handle; the event itself follows after ready(). */
    readonly eventKind: string | undefined;
}

/** Work that should continue in the background. */
export interface BackgroundTask {
    readonly name: string;
    /** True when its time is nearly over: end it now, or watchdogd kills the program. */
    readonly isExpired: boolean;
    /** Ends the task. A second call does nothing. */
    end(): void;
}

export interface AttachOptions {
    /** The program enters the background and the foreground on request, and handles events. */
    lifecycle?: boolean;
    /**
     * Called once when the program is asked to exit, by SIGTERM or over the channel. With it, the library takes over
     * SIGTERM; without it, SIGTERM keeps its effect and a request over the channel does nothing. watchdogd kills a
     * program that does not exit within an allowance.
     */
    onTerminate?: Handler;
    /** The program has entered the background. */
    onBackground?: Handler;
    /** The program has entered the foreground. */
    onForeground?: Handler;
    /** The time for background tasks is nearly over. Called after the handlers of the tasks. */
    onExpire?: Handler;
    /** An event to handle. */
    onEvent?: (event: Event) => unknown;
}

/** attach() was called before, or in a worker. */
export class AttachError extends Error {}

/**
 * Connects to the supervisor; from now on the event loop of the main thread answers pings.
 *
 * A state or event counts as done when its handler has returned or its promise has settled. Requests that arrive before
 * ready() wait for it, except the request to exit. An error that a handler throws is an uncaught exception.
 *
 * @throws {AttachError} if it was called before, or in a worker.
 * @throws {TypeError} for an unknown option, or a handler that is not a function.
 */
export function attach(options?: AttachOptions): void;

/** True if attach() found a supervisor that still exists. */
export function isSupervised(): boolean;

/** Why the program was launched, and into which state; known after attach(). */
export function launch(): Launch;

/** Reports that the program can be used, which completes its launch. */
export function ready(): void;

/** Reports that there is something to see. Only the first call counts; it is a measurement and changes no allowance. */
export function firstFrame(): void;

/** Reports that the program does what it was launched for. Only the first call counts; it changes no allowance. */
export function useful(): void;

/**
 * Extends the measured launch until the work has ended, such as loading what the first page shows.
 *
 * It changes the measurement, not the allowance. Begin the first task before ready(), and any other while one is still
 * open. Use each name once; there are at most 16. If a task cannot count, its work runs anyway.
 */
export function launchTask<Result>(name: string, work: () => Result | PromiseLike<Result>): Promise<Result>;

/** Reports in one line what the program is doing, for people; at most 1,024 bytes. An empty text clears the line. */
export function status(text: string): void;

/** Sets a line that a report about this program will contain; at most 128 bytes. */
export function summary(text: string): void;

/**
 * Requests more time, from now, for work that takes longer than the allowance.
 *
 * Call it repeatedly while the work continues. watchdogd grants time only while the progress changes, up to a limit.
 *
 * @param progress differs from the last time only if the work has advanced, such as "412 of 1000 rows".
 */
export function extend(milliseconds: number, progress: string): void;

/**
 * Keeps the program from being suspended until a piece of work has ended, if it enters the background meanwhile.
 *
 * This starts no work. watchdogd kills a program that has an open task when the time is over.
 *
 * @param name what the work is, as a report names it; at most 128 bytes.
 * @param onExpire called when the time is nearly over; it must end the task at once.
 */
export function beginBackgroundTask(name: string, onExpire?: Handler): BackgroundTask;

/** The same around a function: the task ends when its result has settled. */
export function backgroundTask<Result>(
    name: string,
    work: (task: BackgroundTask) => Result | PromiseLike<Result>,
    onExpire?: Handler,
): Promise<Result>;

/** The estimated time left for background tasks; undefined without a limit. */
export function backgroundMillisecondsRemaining(): number | undefined;

/** Reports that the program has begun to exit; no further background task begins. */
export function stopping(): void;
