// SPDX-License-Identifier: Apache-2.0

import WatchdogControl
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension Daemon: ControlHandler {
    func summary(of name: String) -> AppSummary? {
        apps[name]?.summary
    }

    func describe(_ request: DescribeRequest, answer: ControlAnswer<DescribeReply>) {
        guard let app = apps[request.name] else { return answer.fail(.noSuchApp(request.name)) }
        readLog(of: app, lines: request.logLines ?? 0) { lines in
            answer.succeed(DescribeReply(app: app.summary, details: app.details, log: lines))
        }
    }

    func launch(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) {
        guard let app = app(request.name, answer) else { return }
        switch app.stage {
        case .preparing(let launch, _), .live(let launch):
            answer.fail(.alreadyRunning(app.name, pid: launch.pid))
        case .unkillable(let launch):
            answer.fail(.unkillable(app.name, pid: launch.pid))
        case .stopped, .waiting, .failed:
            note("launch", of: app, from: peer)
            app.restarts.reset()
            app.launchWaiters.append(.init(answer: answer, waits: request.waits))
            app.begin()
        }
    }

    func terminate(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<TerminateReply>) {
        guard let app = app(request.name, answer) else { return }
        switch app.stage {
        case .stopped, .failed:
            answer.fail(.notRunning(app.name))
        case .unkillable(let launch):
            answer.fail(.unkillable(app.name, pid: launch.pid))
        case .waiting:
            note("terminate", of: app, from: peer)
            app.stop()
            answer.succeed(TerminateReply(isGone: true))
        case .preparing, .live:
            note("terminate", of: app, from: peer)
            if request.waits { app.endWaiters.append(answer) } else { answer.succeed(TerminateReply(isGone: false)) }
            app.stop()
        }
    }

    func restart(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) {
        guard let app = app(request.name, answer) else { return }
        switch app.stage {
        case .stopped, .failed, .waiting:
            launch(request, from: peer, answer: answer)
        case .unkillable(let launch):
            answer.fail(.unkillable(app.name, pid: launch.pid))
        case .preparing, .live:
            note("restart", of: app, from: peer)
            app.requestedRestarts += 1
            app.launchWaiters.append(.init(answer: answer, waits: request.waits))
            app.stop(.relaunch)
        }
    }

    func capture(_ request: CaptureRequest, from peer: ControlPeer, answer: ControlAnswer<CaptureReply>) {
        guard let app = app(request.name, answer) else { return }
        guard case .live(let launch) = app.stage, launch.pid != nil else { return answer.fail(.notRunning(app.name)) }
        note("capture", of: app, from: peer)
        let subject = launch.kernel.subject
        launch.kernel.captureOnRequest { [unowned self, name = app.name] outcome in
            if let path = outcome.path {
                var entry = JournalEntry(.captured, "\(name) captured on request: \(path)", about: subject)
                entry.add("WATCHDOGD_REPORT", path)
                tell(nil, entry)
                answer.succeed(CaptureReply(report: path, verdict: outcome.verdict.line))
            } else {
                answer.fail(.captureFailed(name, reason: outcome.failure ?? "unknown reason"))
            }
        }
    }

    func request(
        _ lifecycle: LifecycleRequest, of request: AppRequest, from peer: ControlPeer,
        answer: ControlAnswer<LifecycleReply>
    ) {
        guard let app = app(request.name, answer) else { return }
        note("\(lifecycle)", of: app, from: peer)
        app.move(lifecycle, waits: request.waits, answer: answer)
    }

    func reload(from peer: ControlPeer, answer: ControlAnswer<ReloadReply>) {
        reload(answering: answer)
    }

    func reload(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadAppReply>) {
        guard let app = app(request.name, answer) else { return }
        note("reload", of: app, from: peer)
        app.reload(waits: request.waits, answer: answer)
    }

    private func app<Reply>(_ name: String, _ answer: ControlAnswer<Reply>) -> DaemonApp? {
        guard !isStopping else {
            answer.fail(.shuttingDown)
            return nil
        }
        guard let app = apps[name] else {
            answer.fail(.noSuchApp(name))
            return nil
        }
        return app
    }

    private func note(_ deed: String, of app: DaemonApp, from peer: ControlPeer) {
        if verbosity == .verbose { say("\(app.name): \(deed) requested by \(peer)") }
    }
}
