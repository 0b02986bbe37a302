// SPDX-License-Identifier: Apache-2.0
// A reporter for node:test: one line for each test, and why it failed or was left out.

export default async function* lines(events) {
    for await (const { type, data } of events) {
        // Node 18 reports each file as a test.
        if ((type !== 'test:pass' && type !== 'test:fail') || data.name.endsWith('.test.js')) continue;
        if (type === 'test:fail') {
            const error = data.details.error?.cause ?? data.details.error;
            yield `FAIL  ${data.name}\n${String(error?.stack ?? error).replace(/^/gm, '      ')}\n`;
        } else if (data.skip !== undefined) {
            yield `skip  ${data.name}: ${data.skip}\n`;
        } else {
            yield `ok    ${data.name}\n`;
        }
    }
}
