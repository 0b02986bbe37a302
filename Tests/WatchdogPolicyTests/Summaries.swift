// SPDX-License-Identifier: Apache-2.0

import WatchdogPolicy

extension AppMachine.Phase {
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

extension AppEffect {
    var summary: String {
        switch self {
        case .spawn: "spawn"
        case .beginWindow: "window"
        case .sendPing: "ping"
        case .probe: "probe"
        case .probeLiveness: "ask"
        case .cancelLivenessProbe: "unask"
        case .terminate: "terminate"
        case .inspect: "inspect"
        case .capture: "capture"
        case .killTree: "kill"
        case .report: "report"
        case .announce(let notice): "(\(notice.summary))"
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
        case .ready(let source, _): "ready \(source.rawValue)"
        case .hung: "hung"
        case .starvationCredit: "credit"
        case .overslept: "overslept"
        case .machineResumed: "suspended"
        case .paused: "paused"
        case .resumed: "resumed"
        case .extended: "extended"
        case .extensionRefused(let reason): "\(reason)"
        case .terminating: "ending"
        case .transgressed: "incident"
        case .captureTimedOut: "timeout"
        case .exited: "exited"
        case .unkillable: "unkillable"
        case .probe(.failed): "unanswered"
        case .probe(.recovered): "recovered"
        case .probe(.impossible): "impossible"
        case .probe(.overslept): "probe overslept"
        case .probe(.credited): "probe credit"
        case .probe(.paused): "probe paused"
        case .probe(.resumed): "probe resumed"
        }
    }
}
