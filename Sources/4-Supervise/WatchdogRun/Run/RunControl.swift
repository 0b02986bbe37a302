// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogControl
import WatchdogDaemon
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// Answers requests on a run's control socket: queries only, no changes.
///
/// Isolation: the loop's thread.
final class RunControl: ControlHandler {
    private let name: String
    private let spec: AppSpec
    private let launch: AppLaunch
    private let meter: RunMeter
    private let socket: ControlSocket
    private var server: ControlServer?

    /// Serves a socket.
    init(
        _ socket: ControlSocket, for launch: AppLaunch, _ meter: RunMeter, of spec: AppSpec, on loop: EventLoop,
        closer: Closer?
    ) throws(LinuxError) {
        self.socket = socket
        self.launch = launch
        self.meter = meter
        self.spec = spec
        name = spec.name
        let server = try ControlServer(
            loop: loop, socket: socket, handler: self, info: ServiceInfo(version: watchdogdVersion), closer: closer)
        server.onNotice = { StandardError.mention($0.description) }
        self.server = server
    }

    static func bind(_ path: String) throws(RunError) -> ControlSocket {
        do throws(ControlSocket.BindError) {
            return try ControlSocket.bind(path: path, mode: 0o600)
        } catch {
            switch error {
            case .inUse, .stuck: throw .unavailable("--control: \(error)")
            case .notASocket, .notListening, .failed: throw .cannotCreate("--control: \(error)")
            }
        }
    }

    func stop() {
        server?.stop()
        socket.remove()
    }

    var appNames: [String] { [name] }
    var reportsDirectory: String? { nil }
    var invalidFiles: [InvalidFile] { [] }

    func summary(of name: String) -> AppSummary? {
        guard name == self.name else { return nil }
        let (machine, now) = (launch.supervisor.machine, launch.shell.now)
        return AppSummary(
            name: name, state: AppState(ofRun: machine), isAnswering: AppSummary.isAnswering(machine, at: now),
            silence: SilenceSummary(of: machine, at: now, .now()),
            isWatched: machine.phase == .running ? machine.isWatched : nil, since: launch.stateBegan, pid: launch.pid,
            cgroup: launch.shell.tree.containingCgroup,
            uptime: machine.launchedAt.map { now - $0 })
    }

    func describe(_ request: DescribeRequest, answer: ControlAnswer<DescribeReply>) {
        guard let app = summary(of: request.name) else { return answer.fail(.noSuchApp(request.name)) }
        let machine = launch.supervisor.machine
        var details = AppDetails(
            isEnforced: spec.enforcement == .kill, allowances: AllowanceSummary(spec.allowances),
            pings: LatencySummary(machine.pings),
            probes: spec.livenessProbe.map { _ in LatencySummary(machine.probes) },
            failedProbes: spec.livenessProbe.map { _ in launch.supervisor.account.failedProbes ?? 0 },
            lastAnswer: launch.lastAnswer, probeAdvice: HangAdvice(launch).option, hangs: LatencySummary(machine.hangs),
            strayAnswers: machine.strayAnswers,
            status: launch.supervisor.account.status, lifecycle: machine.lifecycleState.rawValue,
            reportGaps: launch.shell.gaps)
        if let duration = machine.launchDuration, let source = machine.readinessSource {
            details.launch = LaunchSummary(duration: duration, source: source)
            details.launch?.add(launch.phases)
        }
        answer.succeed(DescribeReply(app: app, details: details))
    }

    func metrics(answer: ControlAnswer<MetricsReply>) { meter.metrics.answer(answer) }

    // MARK: - What only a daemon does

    private func refuse<Reply>(_ answer: ControlAnswer<Reply>) {
        answer.fail(
            .failed(reason: "this watchdogd runs one program and only reports its state; use signals to end it"))
    }

    func reports(_ request: ReportsRequest, answer: ControlAnswer<ReportsReply>) { refuse(answer) }

    func launch(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) { refuse(answer) }

    func terminate(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<TerminateReply>) {
        refuse(answer)
    }

    func restart(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<LaunchReply>) { refuse(answer) }

    func capture(_ request: CaptureRequest, from peer: ControlPeer, answer: ControlAnswer<CaptureReply>) {
        refuse(answer)
    }

    func sendEvent(_ request: EventRequest, from peer: ControlPeer, answer: ControlAnswer<LifecycleReply>) {
        refuse(answer)
    }

    func request(
        _ lifecycle: LifecycleRequest, of request: AppRequest, from peer: ControlPeer,
        answer: ControlAnswer<LifecycleReply>
    ) { refuse(answer) }

    func reload(_ request: ReloadRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadReply>) {
        refuse(answer)
    }

    func reload(_ request: AppRequest, from peer: ControlPeer, answer: ControlAnswer<ReloadAppReply>) { refuse(answer) }
}
