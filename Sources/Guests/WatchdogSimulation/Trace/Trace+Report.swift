// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
public import WatchdogReport

extension TraceBuilder {
    /// Adds the silence of the app that a crash log records, from its beginning to the kill or to the answer.
    ///
    /// An incident without an exhausted time, such as failed probes, is only counted.
    ///
    /// - Returns: false if the log is not about an incident.
    public mutating func add(_ report: Report) -> Bool {
        guard let details = report.body.linux, let time = WallTime(report.metadata.timestamp),
            let event = WatchdogEvent(rawValue: details.allowance.event),
            let allowance = Duration(traced: details.allowance.nanoseconds / 1_000),
            let elapsed = Duration(traced: details.allowance.elapsedNanoseconds / 1_000)
        else { return false }
        let end = min(max(time.seconds, 0), 1 << 40) * 1_000_000 + Int64(time.nanoseconds) / 1_000
        let start = end - elapsed.wholeMicroseconds
        let isKill = details.enforcement == "kill"
        switch (details.kind ?? .watchdog, event) {
        case (.hang, .sceneUpdate):
            begin(at: start)
            add(.answered(.ping, after: elapsed), at: end)
            return true
        case (.watchdog, .processLaunch), (.watchdog, .sceneCreate):
            add(.launched, at: start)
        case (.watchdog, .sceneUpdate) where details.missed == nil:
            begin(at: start)
        case (.watchdog, .sceneUpdate):
            add(UnjudgedIncident(.probes, isKill: isKill))
            return true
        case (.watchdog, .backgroundTask):
            add(UnjudgedIncident(.background, isKill: isKill))
            return true
        case (.watchdog, .suspension):
            add(UnjudgedIncident(.lock, isKill: isKill))
            return true
        case (.watchdog, .processExit):
            begin(at: start)
            add(.terminating(isRequested: true), at: start)
        default: return false
        }
        if let credit = Duration(traced: details.allowance.creditNanoseconds / 1_000), credit > .zero {
            add(waitFor: credit, at: end)
        }
        add(incident: event, allowance: allowance, elapsed: elapsed, isKill: isKill, at: end)
        if isKill { add(.exited(.signaled(signal: 9, coreDumped: false)), at: end) }
        return true
    }

    private mutating func begin(at start: Int64) { add(.adopted, at: start - 1) }
}
