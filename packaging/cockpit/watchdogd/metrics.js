// SPDX-License-Identifier: Apache-2.0
// Reads the daemon's metrics, and scales charts. Pure functions: the tests run them without a browser.

const SERIES = {
    watchdogd_app_cpu_seconds_total: (app, value) => { app.cpuSeconds = (app.cpuSeconds ?? 0) + value; },
    watchdogd_app_memory_bytes: (app, value) => { app.memoryBytes = value; },
    watchdogd_app_last_answer_time_seconds: (app, value) => { if (value > 0) app.lastAnswerUSec = value * 1e6; },
    watchdogd_app_info: (app, _, labels) => { app.version = labels.version; },
    watchdogd_app_ping_duration_seconds_bucket: (app, value, { le }) => { app.pings.push(bucket(value, le)); },
    watchdogd_app_probe_duration_seconds_bucket: (app, value, { le }) => { app.probes.push(bucket(value, le)); },
};

const bucket = (count, le) => ({ limitUSec: le === '+Inf' ? Infinity : Number(le) * 1e6, count });

const ESCAPES = { '\\\\': '\\', '\\n': '\n', '\\"': '"' };

/** What the metrics say of each app, by its name, from the parts of the Prometheus text; other series are skipped. */
export function readMetrics(parts) {
    const apps = new Map();
    for (const line of parts.join('').split('\n')) {
        const brace = line.indexOf('{');
        const name = line.slice(0, Math.max(0, brace));
        if (!Object.hasOwn(SERIES, name)) continue;
        const end = line.lastIndexOf('}');
        const value = Number(line.slice(end + 1).trim());
        const labels = Object.create(null);
        for (const [, label, text] of line.slice(brace + 1, end).matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/gu)) {
            labels[label] = text.replace(/\\[\\n"]/gu, (escape) => ESCAPES[escape]);
        }
        if (labels.app === undefined || !Number.isFinite(value)) continue;
        if (!apps.has(labels.app)) apps.set(labels.app, { pings: [], probes: [] });
        SERIES[name](apps.get(labels.app), value, labels);
    }
    for (const app of apps.values()) {
        // The main loop's answers say more than those of a port.
        if (!app.pings.some(({ count }) => count > 0) && app.probes.length > 0) app.pings = app.probes;
        delete app.probes;
    }
    return apps;
}

/**
 * The upper limit of the bucket that holds a quantile of what was counted since an earlier reading, in microseconds.
 *
 * Returns undefined if nothing was counted, and Infinity beyond the last limit.
 */
export function quantile(buckets, earlier, share) {
    const fresh = buckets.map(({ limitUSec, count }) => {
        const before = earlier.find((bucket) => bucket.limitUSec === limitUSec)?.count ?? 0;
        // A daemon that was restarted counts from zero again.
        return { limitUSec, count: count >= before ? count - before : count };
    }).sort((a, b) => a.limitUSec - b.limitUSec);
    const total = fresh.at(-1)?.count ?? 0;
    if (total === 0) return undefined;
    return fresh.find(({ count }) => count >= Math.ceil(total * share)).limitUSec;
}

/** The share of one CPU that an app used between two readings; undefined if it was launched in between. */
export function cpuShare(now, before, seconds) {
    const used = (now?.cpuSeconds ?? NaN) - (before?.cpuSeconds ?? NaN);
    return used >= 0 && seconds > 0 ? used / seconds : undefined;
}

/** Round marks from zero up to the first that is not below a maximum: 1, 2 or 5 times a power of ten apart. */
export function ticks(maximum, most = 5) {
    if (!(maximum > 0) || !Number.isFinite(maximum)) return [0, 1];
    const power = 10 ** Math.floor(Math.log10(maximum / most));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => maximum / size <= most);
    const count = Math.ceil(maximum / step - 1e-9);
    return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/**
 * The launches of all groups in at most this many bars of equal width.
 *
 * A bucket counts where its middle is. Returns the marks of the time axis too; undefined if there was no launch.
 */
export function bars(groups, most = 30) {
    const buckets = groups.flatMap((group) => group.histogram ?? []).filter(({ count }) => count > 0);
    if (buckets.length === 0) return undefined;
    const marks = ticks(Math.max(...buckets.map(({ toUSec }) => toUSec)));
    const width = marks.at(-1) / most;
    const counts = new Array(most).fill(0);
    for (const { fromUSec, toUSec, count } of buckets) {
        counts[Math.min(most - 1, Math.floor((fromUSec + toUSec) / 2 / width))] += count;
    }
    return { counts, width, marks };
}
