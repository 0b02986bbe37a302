// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogPolicy

/// Where the answers to an app's ``AppWaiter``s go.
///
/// Isolation: the loop's thread.
struct AppAskers {
    private enum Asker {
        case launch(ControlAnswer<LaunchReply>)
        case termination(ControlAnswer<TerminateReply>)
    }

    private var askers: [Int: Asker] = [:]
    private var last = 0

    mutating func add(_ answer: ControlAnswer<LaunchReply>, waits: Bool) -> AppWaiter {
        add(.launch(answer), waits: waits)
    }

    mutating func add(_ answer: ControlAnswer<TerminateReply>, waits: Bool) -> AppWaiter {
        add(.termination(answer), waits: waits)
    }

    private mutating func add(_ asker: Asker, waits: Bool) -> AppWaiter {
        last += 1
        askers[last] = asker
        return AppWaiter(id: last, waits: waits)
    }

    /// Answers a waiter.
    ///
    /// - Parameter pid: returns the main process of a launch.
    mutating func answer(_ id: Int, _ answer: AppAnswer, of app: String, pid: (LaunchID) -> Int32?) {
        switch (askers.removeValue(forKey: id), answer) {
        case (.launch(let asker), .running(let launch)): asker.succeed(LaunchReply(pid: pid(launch)))
        case (.launch(let asker), .done(let reason)): asker.succeed(LaunchReply(ended: reason))
        case (.launch(let asker), _): asker.fail(Self.refusal(answer, app, pid))
        case (.termination(let asker), .terminated(let isGone)): asker.succeed(TerminateReply(isGone: isGone))
        case (.termination(let asker), _): asker.fail(Self.refusal(answer, app, pid))
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
