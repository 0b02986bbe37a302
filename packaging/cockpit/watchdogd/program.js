// SPDX-License-Identifier: Apache-2.0
// What the watchdogd command reads from files: reports and the launch history.
/* global cockpit */

/** The most that is read of a command's output. */
const OUTPUT_LIMIT = 16 << 20;

/** Why a command has no answer, and what to do about it. */
export class ProgramError extends Error {}

/** What `watchdogd` prints with these arguments; throws a ProgramError in words. */
async function run(place, ...words) {
    let text = '';
    const process = cockpit.spawn(['watchdogd', ...words], { err: 'message', superuser: place.superuser });
    process.stream((part) => {
        text += part;
        if (text.length > OUTPUT_LIMIT) process.close('too-large');
    });
    try {
        await process;
        return text;
    } catch (error) {
        const message = String(error.message ?? '').replace(/^watchdogd: /u, '').trim();
        switch (error.problem) {
            case 'too-large': throw new ProgramError('It is too long to be shown here; use watchdogd report show.');
            case 'not-found': throw new ProgramError('The command watchdogd is not installed on this machine.');
            case 'access-denied': throw new ProgramError('You may not run watchdogd on this machine.');
            default: throw Object.assign(new ProgramError(message), { exitCode: error.exit_status });
        }
    }
}

/** A report as a page: HTML whose only script is left out, because nothing runs where it is shown. */
export async function reportPage(place, path) {
    const html = await run(place, 'report', 'export', '--format', 'html', '--', path);
    const page = new DOMParser().parseFromString(html, 'text/html');
    for (const script of page.querySelectorAll('script')) script.remove();
    return `<!DOCTYPE html>\n${page.documentElement.outerHTML}`;
}

/** The latest reports of an app, as the daemon would list them, from the folder where it writes by default. */
export async function reports(place, app, limit) {
    const text = await run(
        place, 'report', 'list', '--json', '--reports', place.reports, `--app=${app}`, `--limit=${limit}`);
    return JSON.parse(text).map(({ timestamp, ...report }) => ({ ...report, timeText: timestamp }));
}

/** The launches of an app by version; undefined if none was recorded. */
export async function launches(place, app) {
    try {
        const words = ['launches', '--json', '--by=version', `--history=${place.history}`, '--', app];
        return JSON.parse(await run(place, ...words));
    } catch (error) {
        // EX_NOINPUT: no history, or no launch of the app in it.
        if (error.exitCode === 66) return undefined;
        throw error;
    }
}
