// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogHistory
import WatchdogPolicy
import WatchdogSimulation

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
        for entry in entries {
            switch entry {
            case .launch: break
            case .hang(let hang): add(hang)
            case .termination(let end): add(end, starts)
            }
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
        guard let event = WatchdogEvent(rawValue: hang.event), hang.duration >= .zero else { return }
        let time = hang.time.wholeMicroseconds
        if hang.isFatal {
            // The history does not say how long the allowance was; it was over by then.
            guard event == .sceneUpdate else { return }
            add(incident: event, allowance: hang.duration, isKill: true, at: time)
        } else if event == .sceneUpdate {
            add(.answered(.ping, after: hang.duration), at: time)
        }
    }

    private mutating func add(_ end: KeptTermination, _ starts: [Int64]) {
        let time = end.time.wholeMicroseconds
        let event = end.event.flatMap(WatchdogEvent.init(rawValue:))
        if event == .processLaunch || event == .sceneCreate, let start = starts.last(where: { $0 <= time }) {
            add(incident: .processLaunch, allowance: .microseconds(time - start), isKill: true, at: time)
        }
        if event == .processExit { note("the launch history does not say when an app was asked to end") }
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
