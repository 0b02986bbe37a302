// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogControl
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport
import WatchdogReportStore
import WatchdogVerdict

/// Answers requests on the control socket.
///
/// Isolation: the loop's thread.
final class ControlRequests: ControlHandler {
    /// Why reports cannot be listed.
    private struct ReadFailure: Error {
        let description: String
    }

    private unowned let daemon: Daemon

    init(to daemon: Daemon) {
        self.daemon = daemon
    }

    var appNames: [String] { daemon.appNames }
    var reportsDirectory: String? { daemon.store.directory }
    var invalidFiles: [InvalidFile] { daemon.configuration.invalidFiles }

    func summary(of name: String) -> AppSummary? {
        daemon.apps[name].map { AppSummary(of: $0) }
    }

    func describe(_ request: DescribeRequest, answer: ControlAnswer<DescribeReply>) {
        guard let app = daemon.apps[request.name] else { return answer.fail(.noSuchApp(request.name)) }
        readLog(of: app, lines: request.logLines ?? 0) { lines in
            guard let details = AppDetails(of: app) else { return answer.fail(.noSuchApp(app.name)) }
            answer.succeed(DescribeReply(app: AppSummary(of: app), details: details, log: lines))
        }
    }

    func reports(_ request: ReportsRequest, answer: ControlAnswer<ReportsReply>) {
        let limit = min(max(request.limit ?? 20, 0), 1_000)
        daemon.disks.read { [store = daemon.store] in
            Result { () throws(ReadFailure) in try Self.list(store, app: request.app, limit: limit) }
        } then: { result in
            switch result {
            case .success(let reports): answer.succeed(ReportsReply(reports: reports))
            case .failure(let failure): answer.fail(.failed(reason: failure.description))
            }
        }
    }

    func metrics(answer: ControlAnswer<MetricsReply>) { daemon.metrics.answer(answer) }

    func launch(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) {
        guard let app = app(request.name, answer) else { return }
        note("launch", of: app, from: peer)
        app.request(AppEvent.launchRequested, waits: request.waits, answer)
    }

    func terminate(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<TerminateReply>) {
        guard let app = app(request.name, answer) else { return }
        note("terminate", of: app, from: peer)
        app.requestTermination(waits: request.waits, answer)
    }

    func restart(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) {
        guard let app = app(request.name, answer) else { return }
        note("restart", of: app, from: peer)
        app.request(AppEvent.restartRequested, waits: request.waits, answer)
    }

    func capture(_ request: CaptureRequest, from peer: ControlPeer, answer: ControlAnswer<CaptureReply>) {
        guard let app = app(request.name, answer) else { return }
        guard let launch = app.live, launch.pid != nil else { return answer.fail(.notRunning(app.name)) }
        note("capture", of: app, from: peer)
        let subject = launch.shell.subject
        launch.capture { [announcer = daemon.announcer, name = app.name] outcome in
            if let path = outcome.path {
                var entry = JournalEntry(.captured, "\(name) captured on request: \(path)", about: subject)
                entry.add("WATCHDOGD_REPORT", path)
                announcer.tell(nil, entry)
                answer.succeed(CaptureReply(report: path, verdict: outcome.line))
            } else {
                answer.fail(.captureFailed(name, reason: outcome.failure ?? "unknown reason"))
            }
        }
    }

    func sendEvent(_ request: EventRequest, from peer: ControlPeer, answer: ControlAnswer<LifecycleReply>) {
        guard let app = app(request.name, answer) else { return }
        let event = LaunchingEvent(
            kind: request.kind, payload: request.payload ?? "", sender: daemon.app(askingBy: peer))
        note(request.launches ? "launch for event \(request.kind)" : "event \(request.kind)", of: app, from: peer)
        if request.launches, app.machine.phase.isDown {
            app.launch(for: event, waits: request.waits, answer)
        } else {
            app.moves.request(event.request, waits: request.waits, answer: answer)
        }
    }

    func request(
        _ lifecycle: LifecycleRequest, of request: AppRequest, from peer: ControlPeer,
        answer: ControlAnswer<LifecycleReply>
    ) {
        guard let app = app(request.name, answer) else { return }
        note("\(lifecycle)", of: app, from: peer)
        app.moves.request(lifecycle, waits: request.waits, answer: answer)
    }

    func reload(_ request: ReloadRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadReply>) {
        daemon.configuration.reload(isDryRun: request.isDryRun == true, answering: answer)
    }

    func reload(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadAppReply>) {
        guard let app = app(request.name, answer) else { return }
        note("reload", of: app, from: peer)
        app.reloads.request(waits: request.waits, answer: answer)
    }

    // MARK: - Apps

    private func app<Reply>(_ name: String, _ answer: ControlAnswer<Reply>) -> DaemonApp? {
        guard !daemon.isStopping else {
            answer.fail(.shuttingDown)
            return nil
        }
        guard let app = daemon.apps[name] else {
            answer.fail(.noSuchApp(name))
            return nil
        }
        return app
    }

    private func note(_ deed: String, of app: DaemonApp, from peer: ControlPeer) {
        daemon.announcer.sayIfVerbose("\(app.name): \(deed) requested by \(peer)")
    }

    // MARK: - Disks

    /// Reads the last lines that the latest launch of an app has printed.
    private func readLog(of app: DaemonApp, lines: Int, then tell: @escaping ([LogLine]) -> Void) {
        guard lines > 0, let source = app.latest?.shell.logSource else { return tell([]) }
        daemon.disks.read(
            {
                var limit = LogLimit()
                limit.lines = lines
                limit.bytes = max(limit.bytes, 256 * lines)
                return source.tail(limit).map { line in
                    LogLine(time: line.microseconds.map(Timestamp.init(microseconds:)), text: line.text)
                }
            }, then: tell)
    }

    private static func list(
        _ store: ReportStore, app: String?, limit: Int
    ) throws(ReadFailure) -> [ReportSummary] {
        do throws(ReportStoreError) {
            let reports = try store.list().filter { app == nil || $0.metadata?.appName == app }
            return reports.prefix(limit).map(ReportSummary.init)
        } catch  where error.code == .notFound {
            return []
        } catch {
            throw ReadFailure(description: error.description)
        }
    }
}

extension ReportSummary {
    init(_ report: StoredReport) {
        let metadata = report.metadata
        self.init(
            incident: metadata?.incidentID,
            app: metadata?.appName ?? report.name,
            pid: metadata?.linux.map { Int32(clamping: $0.pid) },
            time: Timestamp(
                microseconds: report.time.seconds * 1_000_000 + Int64(report.time.nanoseconds) / 1_000),
            event: metadata?.linux?.event,
            verdict: metadata?.linux?.verdict,
            path: report.path,
            size: report.size
        )
    }
}
