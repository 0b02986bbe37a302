// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension ProcessMachine.Phase {
    var summary: String {
        switch self {
        case .idle: "idle"
        case .launching: "launching"
        case .running: "running"
        case .terminating(let isRequested): isRequested ? "terminating" : "stopping"
        case .capturing: "capturing"
        case .dying: "dying"
        case .ended: "ended"
        }
    }
}

extension ProcessEffect {
    var summary: String {
        switch self {
        case .spawn: "spawn"
        case .beginWindow: "window"
        case .observe: "observe"
        case .endObservation(let hang): hang == nil ? "look away" : "look away from a hang"
        case .sendPing: "ping"
        case .probe: "probe"
        case .probeLiveness: "ask"
        case .cancelLivenessProbe: "unask"
        case .terminate: "terminate"
        case .inspect: "inspect"
        case .capture: "capture"
        case .terminateTree: "ask the tree"
        case .killTree: "kill"
        case .report: "report"
        case .announce(let notice): "(\(notice.summary))"
        case .lifecycle(let effect): effect.summary
        case .finish(let outcome): "finish-\(outcome.cause.summary)"
        }
    }
}

extension Outcome.Cause {
    var summary: String {
        switch self {
        case .spawnFailed: "spawnFailed"
        case .exited: "exited"
        case .terminated: "terminated"
        case .killedOnRequest: "killedOnRequest"
        case .watchdog: "watchdog"
        }
    }
}

extension Notice {
    var summary: String {
        switch self {
        case .launched: "launched"
        case .adopted: "adopted"
        case .ready(let source, _): "ready \(source.rawValue)"
        case .marked(let mark, _): "marked \(mark.name)"
        case .slow: "slow"
        case .hung: "hung"
        case .starvationCredit: "credit"
        case .overslept: "overslept"
        case .machineResumed: "suspended"
        case .paused: "paused"
        case .resumed: "resumed"
        case .extended: "extended"
        case .extensionRefused(let reason): "\(reason)"
        case .messageRefused: "stranger"
        case .terminating: "ending"
        case .transgressed: "incident"
        case .captureTimedOut: "timeout"
        case .channelLost: "deaf"
        case .exited: "exited"
        case .unkillable: "unkillable"
        case .probe(.failed): "unanswered"
        case .probe(.recovered): "recovered"
        case .probe(.impossible): "impossible"
        case .probe(.overslept): "probe overslept"
        case .probe(.credited): "probe credit"
        case .probe(.paused): "probe paused"
        case .probe(.resumed): "probe resumed"
        case .lifecycle(let notice): notice.summary
        }
    }
}

extension LifecycleEffect {
    var summary: String {
        switch self {
        case .enter(let visibility, _, _): "enter-\(visibility.rawValue)"
        case .grant: "grant"
        case .expire: "expire"
        case .deliver: "deliver"
        case .freeze: "freeze"
        case .thaw: "thaw"
        case .measure: "measure"
        }
    }
}

extension LifecycleNotice {
    var summary: String {
        switch self {
        case .moving(let visibility): "moving \(visibility.rawValue)"
        case .entered(let visibility, _): "entered \(visibility.rawValue)"
        case .expiring: "expiring"
        case .longTask: "longTask"
        case .suspended: "frozen"
        case .suspensionIncomplete: "incomplete"
        case .locksHeld: "locksHeld"
        case .resumed: "thawed"
        case .responsive: "responsive"
        case .handled: "handled"
        case .lost: "lost"
        case .refused(_, let refusal): "refused \(refusal)"
        }
    }
}
