// SPDX-License-Identifier: Apache-2.0

import Glibc
package import WatchdogBase
import WatchdogLinux
package import WatchdogPolicy
import WatchdogRendering
import WatchdogReport
import WatchdogVerdict

extension JournalEntry {
    /// An entry with the fields common to all of watchdogd's entries.
    ///
    /// - Parameters:
    ///   - message: one or more lines to read; safe for a terminal.
    ///   - subject: the app it is about; nil if it is about watchdogd itself.
    ///   - mayNameObject: whether journald accepts `OBJECT_PID`, which it does only from root.
    package init(
        _ kind: EventKind, _ message: String, about subject: EventSubject? = nil, mayNameObject: Bool = geteuid() == 0
    ) {
        self.init(message, priority: kind.priority, identifier: "watchdogd")
        add("MESSAGE_ID", kind.messageID)
        add("WATCHDOGD_KIND", kind.rawValue)
        guard let subject else { return }
        add("WATCHDOGD_APP", subject.app.singleLine(limit: 255))
        add("WATCHDOGD_PID", subject.pid.map { "\($0)" })
        add("WATCHDOGD_LAUNCH_ID", subject.launch)
        add("WATCHDOGD_APP_VERSION", subject.version)
        // journald adds what it knows of that process (OBJECT_COMM and so on), which would be another process if the id
        // were reused.
        if kind.concernsLivingProcess, mayNameObject { add("OBJECT_PID", subject.pid.map { "\($0)" }) }
    }

    /// The entry for a notice, worded by ``Narration``; nil if a later entry covers it.
    package init?(_ notice: Notice, about subject: EventSubject, mayNameObject: Bool = geteuid() == 0) {
        let narration = Narration(name: subject.app.singleLine(limit: 64), verbosity: .verbose)
        guard let kind = EventKind(notice), let text = narration.line(for: notice) else { return nil }
        self.init(kind, text, about: subject, mayNameObject: mayNameObject)
        switch notice {
        case .ready(let source, let after):
            add("WATCHDOGD_SOURCE", source.rawValue)
            add(duration: after)
        case .marked(let mark, let after):
            add("WATCHDOGD_MARK", mark.name)
            add(duration: after)
        case .slow(let slowness):
            add("WATCHDOGD_EVENT", slowness.event.rawValue)
            add(duration: slowness.duration)
        case .hung(let duration), .resumed(let duration), .machineResumed(let duration):
            add(duration: duration)
        case .starvationCredit(let duration, let event), .overslept(let duration, let event),
            .extended(let duration, let event):
            add("WATCHDOGD_EVENT", event.rawValue)
            add(duration: duration)
        case .paused(.traced(let tracer)):
            add("WATCHDOGD_TRACER_PID", "\(tracer)")
        case .exited(let status):
            add(status)
        case .lifecycle(.entered(let visibility, _)):
            add("WATCHDOGD_VISIBILITY", visibility.rawValue)
        case .probe(.failed(let missed)):
            add("WATCHDOGD_PROBE", missed.target)
            add("WATCHDOGD_FAILURES", "\(missed.count)")
            add(duration: missed.lastDuration)
        case .probe(.recovered(let failures)):
            add("WATCHDOGD_FAILURES", "\(failures)")
        case .launched, .adopted, .paused, .extensionRefused, .messageRefused, .terminating, .transgressed,
            .captureTimedOut, .channelLost, .lifecycle, .unkillable, .probe:
            break
        }
    }

    /// The entry for an event whose report was written or failed.
    ///
    /// - Parameter carriesReport: whether the report itself is attached.
    package init(
        _ event: some ReportedEvent, _ report: ReportOutcome, about subject: EventSubject, carriesReport: Bool = true,
        mayNameObject: Bool = geteuid() == 0
    ) {
        let narration = Narration(name: subject.app.singleLine(limit: 64), verbosity: .verbose)
        self.init(
            event.eventKind, narration.lines(of: event, pid: subject.pid, report), about: subject,
            mayNameObject: mayNameObject)
        event.addFields(to: &self)
        add("WATCHDOGD_VERDICT", report.line)
        add("WATCHDOGD_VERDICT_KIND", report.verdict.kind.rawValue)
        add(ReportEntryField.build, report.build)
        add(ReportEntryField.visibility, report.visibility)
        // Before the incident, up to which the organizer reads an entry.
        if let count = report.repeats { add(ReportEntryField.repeats, "\(count)") }
        add(ReportEntryField.path, report.path)
        add(ReportEntryField.incident, report.explanation?.incident)
        add(ReportEntryField.signature, report.explanation?.signature.id)
        add(ReportEntryField.fault, report.explanation?.blame?.party.rawValue)
        guard carriesReport, let data = report.data else { return }
        switch data {
        case .file(let bytes): attach(ReportEntryField.data, bytes, orSayWhyNotIn: ReportEntryField.omitted)
        case .tooLarge(let count):
            add(ReportEntryField.omitted, "\(count) bytes, more than \(ReportEntryField.dataLimit)")
        }
    }

    package mutating func add(duration: Duration) {
        add("WATCHDOGD_DURATION_USEC", "\(duration.nanoseconds / 1_000)")
    }

    /// Adds the exit status in the fields that systemd uses for its services.
    package mutating func add(_ status: ExitStatus) {
        switch status {
        case .exited(let code):
            add("EXIT_CODE", "exited")
            add("EXIT_STATUS", "\(code)")
        case .signaled(let signal, let coreDumped):
            add("EXIT_CODE", coreDumped ? "dumped" : "killed")
            add("EXIT_STATUS", "\(signal)")
        case .unknown:
            break
        }
    }
}

extension EventKind {
    /// The kind of a notice; nil if a later entry covers it.
    package init?(_ notice: Notice) {
        switch notice {
        case .launched: self = .launched
        case .adopted: self = .adopted
        case .ready: self = .ready
        case .marked: self = .marked
        case .slow: self = .slow
        case .hung: self = .hung
        case .starvationCredit: self = .credited
        case .overslept: self = .overslept
        case .machineResumed: self = .machineResumed
        case .paused: self = .paused
        case .resumed: self = .resumed
        case .extended: self = .extended
        case .extensionRefused: self = .extensionRefused
        case .messageRefused: self = .messageRefused
        case .terminating: self = .terminating
        // Reported a moment later, with the verdict and the report.
        case .transgressed: return nil
        case .captureTimedOut: self = .captureFailed
        case .channelLost: self = .channelLost
        case .lifecycle: self = .lifecycle
        case .exited: self = .exited
        case .unkillable: self = .unkillable
        case .probe(.overslept): self = .overslept
        case .probe(.credited): self = .credited
        case .probe(.paused): self = .paused
        case .probe(.resumed): self = .resumed
        case .probe(.failed): self = .probeFailed
        case .probe(.recovered): self = .probeRecovered
        case .probe(.impossible): self = .probeImpossible
        }
    }
}

extension NamedReport {
    /// Says that the report has names now.
    package func tell(_ log: EventLog) {
        guard let line = line(name: appName.singleLine(limit: 64)) else { return }
        log.tell(JournalEntry(self, line), line: line)
    }
}

extension JournalEntry {
    fileprivate init(_ report: NamedReport, _ line: String) {
        self.init(
            .named, line, about: EventSubject(app: report.appName, pid: Int32(truncatingIfNeeded: report.pid)))
        add("WATCHDOGD_REPORT", report.path)
        add("WATCHDOGD_INCIDENT", report.id.description)
        add("WATCHDOGD_VERDICT", report.explanation?.line)
    }
}
