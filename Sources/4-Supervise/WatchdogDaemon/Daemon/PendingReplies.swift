// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogPolicy

/// Where the answers to an app's ``AppWaiter``s go.
///
/// Isolation: the loop's thread.
struct PendingReplies {
    private enum Reply {
        case launch(ControlAnswer<LaunchReply>)
        case termination(ControlAnswer<TerminateReply>)
    }

    private var replies: [Int: Reply] = [:]
    private var last = 0

    mutating func add(_ answer: ControlAnswer<LaunchReply>, waits: Bool) -> AppWaiter {
        add(.launch(answer), waits: waits)
    }

    mutating func add(_ answer: ControlAnswer<TerminateReply>, waits: Bool) -> AppWaiter {
        add(.termination(answer), waits: waits)
    }

    private mutating func add(_ reply: Reply, waits: Bool) -> AppWaiter {
        last += 1
        replies[last] = reply
        return AppWaiter(id: last, waits: waits)
    }

    /// Answers a waiter.
    ///
    /// - Parameter pid: returns the main process of a launch.
    mutating func answer(_ id: Int, _ answer: AppAnswer, of app: String, pid: (LaunchID) -> Int32?) {
        switch (replies.removeValue(forKey: id), answer) {
        case (.launch(let reply), .running(let launch)): reply.succeed(LaunchReply(pid: pid(launch)))
        case (.launch(let reply), .done(let reason)): reply.succeed(LaunchReply(ended: reason))
        case (.launch(let reply), _): reply.fail(Self.refusal(answer, app, pid))
        case (.termination(let reply), .terminated(let isGone)): reply.succeed(TerminateReply(isGone: isGone))
        case (.termination(let reply), _): reply.fail(Self.refusal(answer, app, pid))
        case (nil, _): preconditionFailure("an answer is for somebody who asked")
        }
    }

    private static func refusal(_ answer: AppAnswer, _ app: String, _ pid: (LaunchID) -> Int32?) -> ControlError {
        switch answer {
        case .alreadyRunning(let launch): .alreadyRunning(app, pid: launch.flatMap(pid))
        case .unkillable(let launch): .unkillable(app, pid: pid(launch))
        case .notRunning: .notRunning(app)
        case .launchFailed(let reason): .launchFailed(app, reason: reason)
        case .running, .done, .terminated: preconditionFailure("\(answer) answers another request")
        }
    }
}
