// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
import WatchdogRecording
package import WatchdogReport

/// The phases of a supervised launch, without gaps from its request to its end, from what the kernel recorded of the
/// program's start and what the app said.
package struct LaunchPhases {
    package private(set) var phases: [LaunchDetails.Phase] = []
    private let launchedAt: Instant
    private var begin: Instant
    /// How the first thread had spent its time until ``begin``; nil where nothing is recorded.
    private var account: ThreadTime?
    /// False where records are missing: times would be wrong.
    private let isExact: Bool

    package init(_ trace: LaunchTrace, launchedAt: Instant, until over: Instant, isReady: Bool) {
        self.launchedAt = launchedAt
        let log = trace.startup.log
        isExact = log?.isComplete == true
        begin = launchedAt
        if let requested = trace.requested, requested <= launchedAt {
            begin = requested
            add(.exec, until: min(max(requested, log?.executed ?? launchedAt), over), nil)
        } else if let executed = log?.executed {
            begin = min(executed, over)
        }
        account = log == nil ? nil : ThreadTime()
        for (phase, end) in log?.ended ?? [] where end.time >= begin && end.time <= over {
            add(phase, until: end.time, end.account)
        }
        let said: [(LaunchPhaseName, Instant?, ThreadTime?)] = [
            (.hello, trace.hello, trace.helloAccount), (.firstFrame, trace.firstFrame, trace.firstFrameAccount),
        ]
        var hasSpoken = false
        for (name, moment, account) in said {
            guard let moment, moment >= begin, moment <= over else { continue }
            add(name, until: moment, account)
            hasSpoken = true
        }
        let open = isReady || hasSpoken ? nil : log?.open(at: over)
        add(open ?? .ready, until: over, log?.account(at: over), isOpen: !isReady)
    }

    /// How long each phase took that has ended.
    package var durations: [LaunchPhaseName: Duration] {
        var durations: [LaunchPhaseName: Duration] = [:]
        for phase in phases where !phase.isOpen {
            guard let name = LaunchPhaseName(rawValue: phase.name) else { continue }
            durations[name] = .nanoseconds(phase.nanoseconds)
        }
        return durations
    }

    private mutating func add(_ name: LaunchPhaseName, until end: Instant, _ total: ThreadTime?, isOpen: Bool = false) {
        var phase = LaunchDetails.Phase(
            name: name.rawValue, startNanoseconds: (begin - launchedAt).nanoseconds,
            nanoseconds: max(.zero, end - begin).nanoseconds, isOpen: isOpen)
        if isExact, let account, let total {
            let running = max(.zero, total.running - account.running)
            let waiting = max(.zero, total.waiting - account.waiting)
            let blocked = max(.zero, total.blocked - account.blocked)
            // The records may have been read a moment after the end.
            var excess = max(.zero, running + waiting + blocked - max(.zero, end - begin))
            func reduced(_ part: Duration) -> Int64 {
                let reduction = min(part, excess)
                excess -= reduction
                return (part - reduction).nanoseconds
            }
            phase.blockedNanoseconds = reduced(blocked)
            phase.runningNanoseconds = reduced(running)
            phase.preemptedNanoseconds = reduced(waiting)
        }
        account = total
        phases.append(phase)
        begin = end
    }
}

extension LaunchTrace {
    /// How long each phase took that has ended by an instant, or by the time when the app was ready.
    ///
    /// Empty for a launch that another watchdogd began: its phases are not known.
    package func durations(launchedAt: Instant?, ready: Duration?, until now: Instant) -> [LaunchPhaseName: Duration] {
        guard requested != nil, let launchedAt else { return [:] }
        let over = ready.map { launchedAt + $0 } ?? now
        return LaunchPhases(self, launchedAt: launchedAt, until: over, isReady: ready != nil).durations
    }
}
