// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogHistory
import WatchdogPolicy

extension TraceBuilder {
    /// Adds what the launch history knows of an app.
    mutating func add(_ entries: [HistoryEntry]) {
        var starts: [Int64] = []
        for entry in entries {
            if case .launch(let launch) = entry, launch.kind == .launch, launch.outcome != .failed {
                starts.append(add(launch))
            }
        }
        starts.sort()
        var silences: [Int64] = []
        for case .hang(let hang) in entries {
            add(hang)
            if hang.isFatal { silences.append(hang.time.wholeMicroseconds) }
        }
        silences.sort()
        var (next, latest) = (0, Int64.min)
        for case .termination(let end) in entries {
            let time = end.time.wholeMicroseconds
            // A silence of the main loop is in the history; what else an app is killed for is not.
            while next < silences.count, silences[next] <= latest { next += 1 }
            add(end, starts, isSilence: next < silences.count && silences[next] <= time)
            latest = max(latest, time)
        }
    }

    /// Returns when the program was executed.
    private mutating func add(_ launch: KeptLaunch) -> Int64 {
        let requested = launch.time.wholeMicroseconds
        let start = requested + (launch.moments[.exec] ?? .zero).wholeMicroseconds
        add(.launched, at: start)
        if let ready = launch.moments[.ready] {
            let source = launch.source.flatMap(ReadinessSource.init(rawValue:)) ?? .channel
            add(.ready(source), at: max(start, requested + ready.wholeMicroseconds))
        }
        return start
    }

    private mutating func add(_ hang: KeptHang) {
        guard hang.duration >= .zero else { return }
        let time = hang.time.wholeMicroseconds
        switch hang.event {
        case KeptHang.reported:
            return add(incident: .sceneUpdate, allowance: hang.duration, isKill: false, at: time)
        case KeptHang.reportedProbes: return add(UnjudgedIncident(.probesOrTrigger, isKill: false))
        // No answer of the main loop: the history has no probes.
        case KeptHang.probes: return
        default: break
        }
        guard let event = WatchdogEvent(rawValue: hang.event) else { return }
        if hang.isFatal {
            // The history does not say how long the allowance was; it was over by then.
            guard event == .sceneUpdate else { return }
            add(incident: event, allowance: hang.duration, isKill: true, at: time)
        } else if event == .sceneUpdate {
            add(.answered(.ping, after: hang.duration), at: time)
        }
    }

    private mutating func add(_ end: KeptTermination, _ starts: [Int64], isSilence: Bool) {
        let time = end.time.wholeMicroseconds
        let event = end.event.flatMap(WatchdogEvent.init(rawValue:))
        if event == .processLaunch || event == .sceneCreate, let start = starts.last(where: { $0 <= time }) {
            add(incident: .processLaunch, allowance: .microseconds(time - start), isKill: true, at: time)
        }
        switch event {
        case .sceneUpdate where !isSilence: add(UnjudgedIncident(.probesOrTrigger, isKill: true))
        case .processExit: add(UnjudgedIncident(.exit, isKill: true))
        case .backgroundTask: add(UnjudgedIncident(.background, isKill: true))
        case .suspension: add(UnjudgedIncident(.lock, isKill: true))
        case .sceneUpdate, .processLaunch, .sceneCreate, nil: break
        }
        add(.exited(event == nil ? .unknown : .signaled(signal: 9, coreDumped: false)), at: time)
    }
}

extension WallTime {
    /// Microseconds since 1970; a time out of range becomes the nearest one in range.
    fileprivate var wholeMicroseconds: Int64 {
        let limit = Int64.max / 2_000_000
        return min(max(seconds, -limit), limit) * 1_000_000 + Int64(nanoseconds) / 1_000
    }
}
