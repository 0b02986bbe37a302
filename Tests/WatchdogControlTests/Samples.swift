// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy

@testable import WatchdogControl

/// Values with all fields set, and values with as few as possible.
enum Samples {
    static let dryRun: ReloadReply = {
        var reply = ReloadReply(changed: ["b"])
        reply.restarted = ["b"]
        reply.changes = [
            AppChange(name: "b", endsProcess: true, from: ["Nice=1", "User=a"], to: ["Nice=2", "User=a"])
        ]
        return reply
    }()
    /// 2026-11-21 01:43:17 UTC.
    static let now = Timestamp(microseconds: 1_795_225_397_000_000)

    static func ago(_ duration: Duration) -> Timestamp {
        Timestamp(microseconds: now.microseconds - duration.nanoseconds / 1_000)
    }

    static let incident = IncidentSummary(
        kind: .watchdog, time: ago(.seconds(7_300)), summary: "did not answer within 10 s (0x8badf00d)",
        event: "scene-update",
        verdict: "Main thread blocked 9.98 s in recvfrom(fd 7: TCP 127.0.0.1:51234 \u{2192} 127.0.0.1:8080, "
            + "ESTABLISHED, nothing received) \u{b7} 0.4 % running, 0.0 % waiting for CPU",
        report: "/var/log/watchdogd/reports/web-2026-11-20-234137.ips")

    static let web = AppSummary(
        name: "web", summary: "The shop's front", state: .running, isAnswering: true, since: ago(.seconds(7_200)),
        pid: 4711, cgroup: "/sys/fs/cgroup/system.slice/watchdogd.service/web",
        uptime: .seconds(7_201), restarts: 3, nextLaunch: ago(.seconds(-3)), lastIncident: incident)

    private static let launch: LaunchSummary = {
        var launch = LaunchSummary(duration: .milliseconds(312), source: .notify)
        (launch.firstFrame, launch.useful) = (Microseconds(.milliseconds(290)), Microseconds(.milliseconds(900)))
        (launch.request, launch.hello) = (Microseconds(.microseconds(1_400)), Microseconds(.milliseconds(21)))
        (launch.extended, launch.openTasks) = (Microseconds(.milliseconds(1_200)), ["photos"])
        launch.phases = [
            LaunchPhaseSummary(.exec, .microseconds(1_400)), LaunchPhaseSummary(.mapping, .milliseconds(4)),
            LaunchPhaseSummary(.relocation, .microseconds(130)), LaunchPhaseSummary(.hello, .milliseconds(17)),
            LaunchPhaseSummary(.firstFrame, .milliseconds(269)), LaunchPhaseSummary(.ready, .milliseconds(22)),
        ]
        return launch
    }()

    static let details = AppDetails(
        file: "/etc/watchdogd/apps.d/web.app", isEnforced: true, allowances: AllowanceSummary(Allowances()),
        launch: launch,
        launchedFor: "url from mail, 20 bytes of payload: lost, because nothing in the app listens for it",
        restartsByCause: ["hang": 2, "crash": 1],
        reachedLimit: LimitSummary(.init(cause: .hang, count: 2, interval: .seconds(600))),
        pings: LatencySummary(
            count: 7_200, median: .microseconds(210), percentile99: .microseconds(1_900), maximum: .milliseconds(11)),
        probes: LatencySummary(
            count: 2_400, median: .microseconds(350), percentile99: .milliseconds(2), maximum: .milliseconds(40)),
        probeRefusal: "no shell",
        hangs: LatencySummary(
            count: 2, median: .milliseconds(800), percentile99: .milliseconds(1_200), maximum: .milliseconds(1_200)),
        strayAnswers: 1, lastExit: "was killed by SIGKILL", status: "Serving 12 requests",
        lifecycle: "foreground", output: "journal",
        reportGaps: ["no stacks: 2 earlier captures of this app have not returned"])

    /// An app that does not answer.
    static let silentDescription: DescribeReply = {
        var app = AppSummary(name: "hung", state: .running, isAnswering: false, since: ago(.seconds(9)))
        app.silence = SilenceSummary(
            reason: .probes, since: ago(.seconds(4)), failedProbes: 2, neededProbes: 3, isInTime: false)
        app.isWatched = true
        var details = AppDetails(allowances: AllowanceSummary(Allowances()))
        (details.failedProbes, details.lastAnswer) = (2, ago(.seconds(7)))
        details.probeAdvice = "Probe=tcp:127.0.0.1:80"
        return DescribeReply(app: app, details: details)
    }()

    /// An app that has failed too often.
    static let failedDescription = DescribeReply(
        app: list.apps[5],
        details: AppDetails(
            allowances: AllowanceSummary(Allowances()), restartsByCause: ["crash": 5],
            reachedLimit: LimitSummary(.init(cause: nil, count: 5, interval: .seconds(5_400)))))

    static let log = [
        LogLine(time: ago(.seconds(7_200)), text: "listening on :8080"),
        LogLine(
            time: ago(.seconds(60)),
            text: "GET /\tHTTP/1.1 \u{1b}[31mred\u{1b}[0m 200 a line that is far too long to be shown in one line of 80"
        ),
        LogLine(text: "a line without a time"),
    ]

    static let diagnostics = [
        ControlDiagnostic(
            .error, file: "/etc/watchdogd/apps.d/foo.app", line: 3, column: 1, message: "unknown key \"ExecStrat\"",
            suggestion: "ExecStart"),
        ControlDiagnostic(.warning, file: "/etc/watchdogd/apps.d/foo.app", message: "no [Watchdog] section"),
    ]

    static let event = ControlEvent(
        .reported, app: "web", message: "killed: did not answer within 10 s (0x8badf00d)", time: ago(.seconds(7_300)),
        pid: 4700, report: "/var/log/watchdogd/reports/web-2026-11-20-234137.ips", sequence: 42)

    static let bare = AppSummary(name: "idle", state: .stopped, since: ago(.seconds(5)))

    static let list = ListReply(
        apps: [
            AppSummary(
                name: "a-service-with-quite-a-long-name-that-goes-on", state: .waiting, since: ago(.seconds(2)),
                restarts: 17, nextLaunch: ago(.seconds(-3)),
                lastIncident: IncidentSummary(
                    kind: .exit, time: ago(.seconds(2)), summary: "exited with code 1")),
            AppSummary(
                name: "api", state: .terminating, since: ago(.seconds(1)), pid: 4_194_303, uptime: .seconds(266_400),
                restarts: 0),
            AppSummary(
                name: "evil\u{1b}[2J", state: AppState(rawValue: "meditating"), since: ago(.seconds(1)), pid: 17,
                uptime: .seconds(5)),
            bare,
            web,
            AppSummary(
                name: "worker", state: .failed, since: ago(.seconds(86_400 * 3)), restarts: 5,
                lastIncident: IncidentSummary(
                    kind: .crash, time: ago(.seconds(86_400 * 3)), summary: "was killed by SIGSEGV")),
        ],
        invalidFiles: [InvalidFile(name: "foo", file: "/etc/watchdogd/apps.d/foo.app", diagnostics: diagnostics)])

    static let description = DescribeReply(app: web, details: details, log: log)

    static let bareDescription = DescribeReply(
        app: bare, details: AppDetails(isEnforced: false, allowances: AllowanceSummary(Allowances())),
        isLogWithheld: true)

    /// The reply to a caller without the permission to inspect.
    static let outline = ListReply(
        apps: list.apps.map(\.outline), invalidFiles: list.invalidFiles.map(\.outline), isWithheld: true)

    static let outlineDescription = DescribeReply(
        app: web.outline, details: nil, isLogWithheld: true, isWithheld: true)

    static let report = ReportSummary(
        incident: "1B2C", app: "web", pid: 4700, time: ago(.seconds(7_300)), event: "scene-update", verdict: "blocked",
        path: "/r/web.ips", size: 20_000)
}
