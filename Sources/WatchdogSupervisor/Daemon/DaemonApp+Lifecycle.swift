// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogPolicy

extension DaemonApp {
    /// Somebody who waits until the app is where it was asked to go, or has handled an event.
    struct MoveWaiter {
        let answer: ControlAnswer<LifecycleReply>
        let request: LifecycleRequest

        /// Whether the request is carried out when the app is in a state; an event is by a notice of its own.
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

    /// Asks something of the app, unless it does not run.
    func move(_ request: LifecycleRequest, waits: Bool, answer: ControlAnswer<LifecycleReply>) {
        guard case .live(let launch) = stage, launch.supervisor.machine.lifecycleState != .notRunning else {
            answer.fail(.notRunning(name))
            return
        }
        moveWaiters.append(MoveWaiter(answer: answer, request: request))
        launch.supervisor.request(request)
        // A refusal has taken the waiter away.
        guard let index = moveWaiters.lastIndex(where: { $0.answer === answer }) else { return }
        let state = launch.supervisor.machine.lifecycleState
        guard !waits || moveWaiters[index].isMet(in: state) else { return }
        moveWaiters.remove(at: index)
        answer.succeed(LifecycleReply(state: state))
    }

    /// Answers those whose wish has come true, or cannot.
    func moved(_ notice: LifecycleNotice, of launch: AppLaunch) {
        let state = launch.supervisor.machine.lifecycleState
        switch notice {
        case .refused(let request, let refusal):
            guard let index = moveWaiters.lastIndex(where: { $0.request == request }) else { return }
            moveWaiters.remove(at: index).answer.fail(
                .refused(name, reason: "\(request.verb): \(refusal.words)"))
        case .handled(let event, _):
            let index = moveWaiters.firstIndex { waiter in
                if case .event(event, _) = waiter.request { true } else { false }
            }
            if let index { moveWaiters.remove(at: index).answer.succeed(LifecycleReply(state: state)) }
        case .entered, .suspended, .resumed:
            let met = moveWaiters.filter { $0.isMet(in: state) }
            moveWaiters.removeAll { $0.isMet(in: state) }
            for waiter in met { waiter.answer.succeed(LifecycleReply(state: state)) }
        case .moving, .expiring, .longTask, .suspensionIncomplete, .locksHeld, .responsive:
            break
        }
    }

    /// The app has ended: nothing that was asked of it will be done.
    func abandonMoves() {
        abandonReload()
        for waiter in moveWaiters { waiter.answer.fail(.notRunning(name)) }
        moveWaiters = []
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
        case .event(let kind, _): "handle the event \(kind)"
        }
    }
}
