// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogLaunch
import WatchdogPolicy

/// Clients that wait until an app has reached a lifecycle state or handled an event.
///
/// Isolation: the loop's thread.
final class AppMoves {
    private struct Waiter {
        let answer: ControlAnswer<LifecycleReply>
        let request: LifecycleRequest

        /// Whether reaching a state fulfills the request; events are confirmed by a notice of their own.
        func isMet(in state: LifecycleState) -> Bool {
            switch request {
            case .foreground: state == .foreground
            case .background: state == .background
            case .suspend: state == .suspended
            case .resume: state == .foreground || state == .background
            case .event: false
            }
        }
    }

    private unowned let app: DaemonApp
    private var waiters: [Waiter] = []

    init(of app: DaemonApp) {
        self.app = app
    }

    /// Waits for an event that is sent after the launch.
    func expect(_ request: LifecycleRequest, _ answer: ControlAnswer<LifecycleReply>) {
        waiters.append(Waiter(answer: answer, request: request))
    }

    /// Drops a client that has its answer.
    func forget(_ answer: ControlAnswer<LifecycleReply>) { waiters.removeAll { $0.answer === answer } }

    /// Sends a request to the app, unless it is not running.
    func request(_ request: LifecycleRequest, waits: Bool, answer: ControlAnswer<LifecycleReply>) {
        guard let launch = app.live, launch.supervisor.machine.lifecycleState != .notRunning else {
            answer.fail(.notRunning(app.name))
            return
        }
        waiters.append(Waiter(answer: answer, request: request))
        launch.supervisor.request(request)
        // A refusal has already removed the waiter.
        guard let index = waiters.lastIndex(where: { $0.answer === answer }) else { return }
        let state = launch.supervisor.machine.lifecycleState
        guard !waits || waiters[index].isMet(in: state) else { return }
        waiters.remove(at: index)
        answer.succeed(LifecycleReply(state: state))
    }

    /// Answers the waiters whose request was fulfilled or failed.
    func noticed(_ notice: LifecycleNotice, of launch: AppLaunch) {
        let state = launch.supervisor.machine.lifecycleState
        switch notice {
        case .refused(let request, let refusal):
            guard let index = waiters.lastIndex(where: { $0.request == request }) else { return }
            waiters.remove(at: index).answer.fail(.refused(app.name, reason: "\(request.verb): \(refusal.words)"))
        case .handled(let event, _): waiter(for: event)?.succeed(LifecycleReply(state: state))
        case .lost(let event): waiter(for: event)?.fail(.eventLost(app.name, kind: event))
        case .entered, .suspended, .resumed:
            let met = waiters.filter { $0.isMet(in: state) }
            waiters.removeAll { $0.isMet(in: state) }
            for waiter in met { waiter.answer.succeed(LifecycleReply(state: state)) }
        case .moving, .expiring, .longTask, .suspensionIncomplete, .locksHeld, .responsive:
            break
        }
    }

    /// Takes the client that has waited longest for an event of this kind.
    private func waiter(for event: String) -> ControlAnswer<LifecycleReply>? {
        let index = waiters.firstIndex { waiter in
            if case .event(event, _, _) = waiter.request { true } else { false }
        }
        return index.map { waiters.remove(at: $0).answer }
    }

    /// Fails all requests, because the app has ended.
    func abandon() {
        for waiter in waiters { waiter.answer.fail(.notRunning(app.name)) }
        waiters = []
    }
}

extension LifecycleRequest {
    /// As in "was not asked to *go to the background*".
    fileprivate var verb: String {
        switch self {
        case .foreground: "go to the foreground"
        case .background: "go to the background"
        case .suspend: "be suspended"
        case .resume: "resume"
        case .event(let kind, _, _): "handle the event \(kind)"
        }
    }
}
