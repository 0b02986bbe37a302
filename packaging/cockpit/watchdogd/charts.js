// SPDX-License-Identifier: Apache-2.0
// Draws the launch history of an app.

import { element, shape } from './dom.js';
import { bars, ticks } from './metrics.js';
import { brief, measured, shown } from './text.js';

/** Versions that are drawn; the latest count. */
const MOST_VERSIONS = 6;

/** All launches as a histogram. */
export function histogram(groups) {
    const data = bars(groups);
    if (data === undefined) return element('p', { class: 'quiet' }, 'No launch has become ready yet.');
    const [width, height, left, right, top, bottom] = [440, 170, 40, 22, 8, 22];
    const longest = data.marks.at(-1);
    const counts = ticks(Math.max(...data.counts), 3).filter(Number.isInteger);
    const x = (time) => left + (width - left - right) * time / longest;
    const y = (count) => height - bottom - (height - top - bottom) * count / counts.at(-1);
    const total = data.counts.reduce((sum, count) => sum + count, 0);
    const drawing = shape('svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img' });
    drawing.append(shape('title', {}, `Histogram of ${total} launches by time until ready`));
    for (const count of counts) {
        drawing.append(
            shape('line', { class: 'grid', x1: left, x2: width - right, y1: y(count), y2: y(count) }),
            shape('text', { x: left - 6, y: y(count) + 4, 'text-anchor': 'end' }, String(count)));
    }
    for (const mark of data.marks) {
        drawing.append(shape('text', { x: x(mark), y: height - 5, 'text-anchor': 'middle' }, brief(mark)));
    }
    data.counts.forEach((count, index) => {
        if (count === 0) return;
        const bar = shape('rect', {
            class: 'bar', x: x(index * data.width) + 1, y: y(count), height: y(0) - y(count),
            width: x((index + 1) * data.width) - x(index * data.width) - 2,
        });
        const span = `${measured(index * data.width)} to ${measured((index + 1) * data.width)}`;
        bar.append(shape('title', {}, `${count} ${count === 1 ? 'launch' : 'launches'}: ${span}`));
        drawing.append(bar);
    });
    return drawing;
}

/** Medians of the versions in the order of their first launch, as a line, with the way up to the 99th percentile. */
export function versions(groups) {
    const drawn = groups.filter(({ p50USec }) => p50USec !== undefined)
        .sort((a, b) => a.firstUSec - b.firstUSec).slice(-MOST_VERSIONS);
    if (drawn.length < 2) return undefined;
    const [width, height, left, right, top, bottom] = [440, 170, 56, 10, 8, 22];
    const marks = ticks(Math.max(...drawn.map((group) => group.p99USec ?? group.p50USec)), 4);
    const x = (index) => left + 28 + (width - left - right - 56) * index / (drawn.length - 1);
    const y = (time) => height - bottom - (height - top - bottom) * time / marks.at(-1);
    const drawing = shape('svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img' });
    drawing.append(shape('title', {}, `Time until ready of the latest ${drawn.length} versions`));
    for (const mark of marks) {
        drawing.append(
            shape('line', { class: 'grid', x1: left, x2: width - right, y1: y(mark), y2: y(mark) }),
            shape('text', { x: left - 6, y: y(mark) + 4, 'text-anchor': 'end' }, brief(mark)));
    }
    drawing.append(shape('polyline', {
        class: 'line', points: drawn.map((group, index) => `${x(index)},${y(group.p50USec)}`).join(' '),
    }));
    drawn.forEach((group, index) => {
        const most = group.p99USec ?? group.p50USec;
        const build = shown(group.label.split(' ')[0].slice(0, 8));
        const point = shape('circle', { class: 'point', cx: x(index), cy: y(group.p50USec), r: 4 });
        point.append(shape('title', {}, `${shown(group.label)}: half of ${group.count} launches within `
            + `${measured(group.p50USec)}, 99 % within ${measured(most)}`));
        drawing.append(
            shape('line', { class: 'range', x1: x(index), x2: x(index), y1: y(group.p50USec), y2: y(most) }), point,
            shape('text', { x: x(index), y: height - 5, 'text-anchor': 'middle' }, build));
    });
    return drawing;
}

/** The numbers behind the drawings. */
export function table(groups) {
    const head = ['Version', 'Launches', 'Never ready', 'Half within', '90 % within', '99 % within'];
    const rows = groups.slice(0, 50).map((group) => {
        const times = [group.p50USec, group.p90USec, group.p99USec];
        const cells = [
            String(group.count), String(group.notReady),
            ...times.map((time) => (time === undefined ? '–' : measured(time))),
        ];
        return element('tr', {}, element('th', { scope: 'row' }, shown(group.label)),
            ...cells.map((cell, index) => element('td', { 'data-label': head[index + 1] }, cell)));
    });
    return element('table', { class: 'numbers' },
        element('caption', { class: 'hidden' }, 'Launches by version'),
        element('thead', {}, element('tr', {}, ...head.map((name) => element('th', { scope: 'col' }, name)))),
        element('tbody', {}, ...rows));
}
