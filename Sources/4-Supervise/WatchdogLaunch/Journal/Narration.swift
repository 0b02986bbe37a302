// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
package import WatchdogPolicy
import WatchdogReport
import WatchdogVerdict

/// The amount of messages on standard error.
public enum Verbosity: Sendable {
    /// Only failures and kills.
    case quiet
    /// Also messages that explain unexpected delays.
    case normal
    /// All messages.
    case verbose
}

/// The text of notices on stderr, one line each.
package struct Narration {
    package let name: String
    package let verbosity: Verbosity

    package init(name: String, verbosity: Verbosity) {
        self.name = name
        self.verbosity = verbosity
    }

    /// The line for a notice; nil if this verbosity omits it.
    package func line(for notice: Notice) -> String? {
        guard let (isDetail, text) = text(for: notice) else { return nil }
        switch verbosity {
        case .quiet: return nil
        case .normal: return isDetail ? nil : text
        case .verbose: return text
        }
    }

    private func text(for notice: Notice) -> (isDetail: Bool, text: String)? {
        switch notice {
        case .launched(let pid):
            (true, "\(name) launched, pid \(pid)")
        case .adopted(let pid):
            (false, "\(name) was found running, pid \(pid); its previous state is lost")
        case .ready(.assumed, let after):
            (
                false,
                "\(name) has not reported that it is ready within \(after.brief); assuming it launched"
                    + " (set Readiness= or --readiness to the way it reports that)"
            )
        case .ready(let source, let after):
            (true, "\(name) ready \(after.sinceLaunch) (\(source.rawValue))")
        case .marked(.firstFrame, let after):
            (true, "\(name) showed its first frame after \(after.brief)")
        case .marked(.useful, let after):
            (true, "\(name) useful after \(after.brief)")
        case .marked(.extended(let tasks), let after):
            (true, "\(name) ended \(tasks == 1 ? "its launch task" : "its \(tasks) launch tasks") after \(after.brief)")
        case .slow(let slowness):
            (false, "\(name) \(slowness.words)")
        case .hung(let duration):
            (false, "\(name) hung for \(duration.brief)")
        case .starvationCredit(let credit, let event):
            (
                false,
                "\(name) waited \(credit.brief) for a CPU; its \(event.allowanceName) allowance is extended by as much"
            )
        case .overslept(let late, let event):
            (
                false,
                "watchdogd itself did not run for \(late.brief); the \(event.allowanceName) allowance of \(name) restarts"
            )
        case .machineResumed(let suspension):
            (false, "the machine was suspended for \(suspension.brief); allowances of \(name) restart")
        case .paused(let pause):
            (false, "\(name) \(pause.words); its allowances are paused")
        case .resumed(let after):
            (false, "\(name) is running again after \(after.brief)")
        case .extended(let gained, let event):
            (true, "\(name) extended its \(event.allowanceName) allowance by \(gained.brief)")
        case .extensionRefused(.noProgress):
            (false, "\(name) asked for more time without showing progress; refused")
        case .extensionRefused(.capReached):
            (false, "\(name) asked for more time than an allowance can be extended by; refused")
        case .extensionRefused(.nothingToExtend):
            (true, "\(name) asked for more time while no allowance was running")
        case .messageRefused(let sender, let user):
            (
                false,
                "\(name): a message on its notify socket does not count: it is from process \(sender) of user \(user),"
                    + " which does not belong to \(name)"
            )
        case .terminating(let isRequested):
            (true, isRequested ? "\(name) asked to terminate" : "\(name) says that it is terminating")
        case .transgressed:
            nil
        case .captureTimedOut:
            (false, "the stacks of \(name) could not be captured in time; killed without them")
        case .channelLost:
            (false, "the channel of \(name) is lost; its main loop is not monitored until the next launch")
        case .exited(let status):
            (true, "\(name) \(status.words)")
        case .lifecycle(let notice):
            text(for: notice)
        case .unkillable:
            (false, "\(name) has processes that SIGKILL did not end; they are left behind")
        case .probe(let notice):
            (false, text(for: notice))
        }
    }

    private func text(for notice: ProbeNotice) -> String {
        switch notice {
        case .failed(let missed): "\(name): \(missed)".singleLine(limit: 400)
        case .recovered(let failures):
            "\(name) answers again after \(failures.counted("failed probe"))"
        case .impossible(let reason):
            "\(name) cannot be probed, which does not count as a failure: \(reason)".singleLine(limit: 400)
        case .overslept(let late):
            "watchdogd itself did not run for \(late.brief); the probe of \(name) is repeated"
        case .credited(let credit):
            "\(name) waited \(credit.brief) for a CPU; its probes get that much more time"
        case .paused(let pause): "\(name) \(pause.words); probes are paused"
        case .resumed(let after): "\(name) is running again after \(after.brief); probes have resumed"
        }
    }
}

extension Duration {
    /// "after 312 ms"; a program may be ready before watchdogd hears that it was executed.
    fileprivate var sinceLaunch: String { self <= .zero ? "at once" : "after \(brief)" }
}

extension Narration {
    /// The lines about an event with a report: the event, who does not move, the verdict, the report.
    ///
    /// They are one string, so that output of the app cannot come between them.
    package func lines(of event: some ReportedEvent, pid: Int32?, _ report: ReportOutcome) -> String {
        let place =
            switch (report.path, report.repeats) {
            case (let path?, let count?): "counted in \(path): \(count) more like it"
            case (let path?, nil): path
            case (nil, _) where report.printed != nil: "the crash log is printed above"
            case (nil, _): "\(event.absenceOfReport): \(report.failure ?? "unknown reason")"
            }
        let lines = event.sentences(in: self, report) + [place]
        return "\(name)[\(pid ?? 0)] \(lines.joined(separator: "\n  "))"
    }

    /// What follows from an incident, before its report is written.
    ///
    /// An event of its own has told which probes failed.
    package func announcement(of incident: Incident) -> String {
        guard case .probesFailed(let missed) = incident.cause else { return reason(of: incident) }
        let probes = missed.count.counted("failed probe is", "failed probes in a row are")
        return "\(probes) enough: capturing its stacks" + (incident.isEnforced ? ", then killing it" : "")
    }

    /// As in "killed: *did not answer within 10 s*".
    package func reason(of incident: Incident) -> String {
        switch incident.cause {
        case .exhausted:
            "\(incident.event.fault) within \(TimeSpan.text(incident.allowance))"
                + (incident.awaited.map { ", waiting for \($0)".singleLine(limit: 200) } ?? "")
        case .triggered: "it asked for this with WATCHDOG=trigger"
        case .probesFailed(let missed): "\(missed)".singleLine(limit: 400)
        case .launchCPUTime: "\(incident.event.fault) after \(TimeSpan.text(incident.allowance)) of CPU time"
        case .backgroundTasks(let tasks, _):
            "\(tasks.count == 1 ? "a background task" : "\(tasks.count) background tasks") open after"
                + " \(TimeSpan.text(incident.allowance)) in the background"
        case .tooManyTasks(let count, _): "\(count) background tasks open at once"
        case .backgroundCPUTime: "used \(TimeSpan.text(incident.allowance)) of CPU time in the background"
        case .lockedFiles(let files):
            "suspended with \(files.count == 1 ? "a locked file" : "\(files.count) locked files")"
        }
    }

    /// As in "redis *left 1 process behind when it exited with code 0 …*".
    package func words(forLeaving processes: Int) -> String {
        "left \(processes.counted("process", "processes")) behind when it exited with code 0, which"
            + " \(processes == 1 ? "was" : "were") ended; it has to stay in the foreground"
            + " (redis: --daemonize no; nginx: daemon off)"
    }

    /// A line without the app's name at its start, for places that already show it.
    package func withoutName(_ line: String) -> String {
        let rest = line.hasPrefix(name) ? line.dropFirst(name.count) : ""
        if rest.hasPrefix(": ") { return String(rest.dropFirst(2)) }
        return rest.hasPrefix(" ") ? String(rest.dropFirst()) : line
    }

    /// As in "expected ready, but HangMain *exited with code 1*".
    package func words(for outcome: Outcome) -> String {
        let end = outcome.status?.words ?? "did not end"
        return switch outcome.cause {
        case .spawnFailed: "could not be started"
        case .exited: end
        case .terminated: "\(end) after the request to terminate"
        case .killedOnRequest: "was killed on request"
        case .watchdog(let incident): "was killed: \(reason(of: incident))"
        }
    }
}

extension WatchdogEvent {
    /// What the app did not do, as a sentence goes on.
    fileprivate var fault: String {
        switch self {
        case .processLaunch, .sceneCreate, .sceneUpdate, .processExit: omission
        case .backgroundTask: "did not end its background tasks"
        case .suspension: "did not let go of what it held"
        }
    }
}

extension Pause {
    /// As in "HangMain *is stopped by a signal*".
    package var words: String {
        switch self {
        case .traced(let pid): "is traced by pid \(pid)"
        case .stopped: "is stopped by a signal"
        case .frozen: "is in a frozen cgroup"
        case .dumpingCore: "has crashed, and the kernel is writing its core"
        }
    }
}

extension Slowness {
    /// As in "HangMain *has not answered for 5.00 s; its update allowance ends in 5.00 s*".
    package var words: String {
        let time = duration.brief
        let fact =
            switch duty {
            case .becomeReady: "is not ready after \(time)"
            case .answer: "has not answered for \(time)"
            case .push: "has not sent WATCHDOG=1 for \(time)"
            case .respond: "has not responded for \(time)"
            case .exit(isRequested: true): "has not exited \(time) after it was asked to"
            case .exit(isRequested: false): "has not exited \(time) after it said that it would"
            }
        return "\(fact); its \(event.allowanceName) allowance ends in \(remaining.brief)"
    }
}

extension ExitStatus {
    /// As in "HangMain *exited with code 1*".
    package var words: String {
        switch self {
        case .exited(let code): "exited with code \(code)"
        case .signaled(let signal, let coreDumped):
            "was killed by \(SignalName.of(Int(signal)))" + (coreDumped ? " (core dumped)" : "")
        case .unknown: "ended; exit status unknown"
        }
    }
}

extension Duration {
    /// Milliseconds with microsecond precision, for JSON.
    package var milliseconds: Double { Double(wholeMicroseconds) / 1_000 }
}
