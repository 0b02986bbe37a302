// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
public import WatchdogReport
import WatchdogVerdict

/// Renders a report as the classic text of a `.crash` file, in Apple's layout: that of Apple's reports to the byte.
///
/// In our own reports, identical stacks are shown once, and a capture on request does not look like a crash. Text that
/// came from a process is made safe for terminals.
public enum TextRenderer {
    /// The version of the layout.
    static let reportVersion = 104

    /// Renders a report, ours or one of Apple's.
    ///
    /// - Parameter style: may color parts of it; its width is not used, because readers of the format depend on its lines.
    public static func render(_ report: Report, in style: TextStyle = TextStyle()) -> String {
        var text = CrashText(style, executable: report.body.procPath)
        header(report, &text)
        let isCapture = report.body.linux?.kind == .capture
        if !isCapture { exception(report.body, &text) }
        information(report.body, &text)
        threads(report, &text)
        if report.body.threads.indices.contains(report.body.faultingThread),
            let state = report.body.threads[report.body.faultingThread].threadState
        {
            let title = title(report.body.faultingThread, report.body)
            RegisterText.append(state, title: "\(title) \(isCapture ? "with" : "crashed with")", to: &text)
        }
        GoroutineText.append(report.body, to: &text)
        log(report.body, &text)
        OtherProcessText.append(report.body.linux?.processes ?? [], to: &text)
        OtherProcessText.append(
            report.body.linux?.trailProcesses ?? [], title: "Processes of Others, in the Chain of Waits", to: &text)
        images(report.body.usedImages, &text)
        return text.string
    }

    private static func header(_ report: Report, _ text: inout CrashText) {
        let body = report.body
        let bundle = body.bundleInfo
        text.field("Incident Identifier", body.incident)
        text.field("CrashReporter Key", body.crashReporterKey)
        text.field("Hardware Model", body.modelCode)
        text.field("Process", "\(body.procName) [\(body.pid)]")
        text.field("Path", body.procPath)
        text.field("Identifier", bundle?.identifier ?? report.metadata.bundleID ?? body.procName)
        text.field("Version", "\(bundle?.shortVersion ?? "???") (\(bundle?.version ?? "???"))")
        text.field("Code Type", "\(body.cpuType ?? "???") (\(body.translated == true ? "Translated" : "Native"))")
        text.field("Role", body.procRole)
        text.field("Parent Process", body.parentProc.map { "\($0) [\(body.parentPid ?? 0)]" })
        text.field("Coalition", body.coalitionName.map { $0 + (body.coalitionID.map { " [\($0)]" } ?? "") })
        text.blank()
        text.field("Date/Time", body.captureTime)
        text.field("Launch Time", body.procLaunch)
        text.field("OS Version", body.osVersion.map { "\($0.train) (\($0.build))" } ?? report.metadata.osVersion)
        text.field("Release Type", body.osVersion?.releaseType)
        text.field("Baseband Version", body.basebandVersion)
        text.field("Report Version", String(reportVersion))
        text.blank()
    }

    private static func exception(_ body: ReportBody, _ text: inout CrashText) {
        let exception = body.exception
        text.line("Exception Type:  \(exception.type)\(exception.signal.map { " (\($0))" } ?? "")")
        if let subtype = exception.subtype { text.line("Exception Subtype: \(subtype)") }
        if let message = exception.message { text.line("Exception Message: \(message)") }
        if let codes = exception.codes { text.line("Exception Codes: \(codes)") }
        if let region = body.vmRegionInfo { text.lines("VM Region Info: \(region)") }
        if body.isSimulated == 1 { text.line("Exception Note:  SIMULATED (this is NOT a crash)") }
        if body.isCorpse == 1 { text.line("Exception Note:  EXC_CORPSE_NOTIFY") }
        if let termination = body.termination {
            let reason = "Termination Reason: \(termination.namespace) \(termination.code) "
            text.line(reason + (termination.indicator ?? ""), .failure)
            for line in termination.reasons ?? [] { text.line(line, .failure) }
            if let name = termination.byProc {
                text.line("Terminating Process: \(name) [\(termination.byPid ?? 0)]")
            }
        }
        text.blank()
        text.line("Triggered by Thread:  \(body.faultingThread)")
        text.blank()
    }

    private static func information(_ body: ReportBody, _ text: inout CrashText) {
        if let information = body.applicationSpecificInformation, !information.isEmpty {
            text.line("Application Specific Information:")
            for (_, lines) in information.sorted(by: { $0.key < $1.key }) {
                for line in lines { text.lines(line) }
            }
            text.blank()
        }
        if let triage = body.kernelTriage {
            text.line("Kernel Triage:")
            text.lines(triage)
            text.blank()
        }
        if let frames = body.lastExceptionBacktrace {
            text.line("Last Exception Backtrace:")
            for (index, frame) in frames.enumerated() { text.frame(index, frame, body.usedImages) }
            text.blank()
        }
        text.blank()
    }

    /// `Thread 0`; in a capture on request, `Thread 0 (main)`.
    private static func title(_ index: Int, _ body: ReportBody) -> String {
        let isMain = body.linux?.kind == .capture && body.threads[index].id == body.pid
        return "Thread \(index)\(isMain ? " (main)" : "")"
    }

    private static func threads(_ report: Report, _ text: inout CrashText) {
        let body = report.body
        let details = body.linux?.threads ?? []
        let stacks = body.linux == nil ? [] : report.stacks.filter { !$0.isFaulting && !$0.calls.isEmpty }
        let groups = StackGroup.groups(of: stacks)
        let repeated = Set(groups.flatMap { $0.others.map(\.index) })
        let repetitions = Dictionary(uniqueKeysWithValues: groups.map { ($0.first.index, $0.repetition) })
        for (index, thread) in body.threads.enumerated() where !repeated.contains(index) {
            let queue = thread.queue.map { "\(thread.name == nil ? " " : "  ")Dispatch queue: \($0)" }
            if thread.name != nil || queue != nil {
                text.line("Thread \(index) name:  \(thread.name ?? "")\(queue ?? "")")
            }
            let isCrashed = index == body.faultingThread && body.linux?.kind != .capture
            text.line("\(title(index, body))\(isCrashed ? " Crashed" : ""):", isCrashed ? .failure : nil)
            let trust = details.indices.contains(index) ? details[index].trust : []
            for (number, frame) in thread.frames.enumerated() {
                if trust.count > number, number == trust.firstIndex(of: .outerEnd) {
                    text.line("...  the calls between are left out")
                }
                text.frame(number, frame, body.usedImages)
            }
            if details.indices.contains(index), details[index].id == thread.id {
                for (number, frame) in details[index].asynchronousFrames.enumerated() {
                    text.frame(thread.frames.count + number, frame, body.usedImages, mark: " [async]")
                }
            }
            text.blank()
            if let lines = repetitions[index], !lines.isEmpty {
                for line in lines { text.line(line) }
                text.blank()
            }
        }
        text.blank()
    }

    /// Appends the log under the same title as Apple's reports, but after the stacks.
    ///
    /// Fifty lines would push the stacks off the screen.
    private static func log(_ body: ReportBody, _ text: inout CrashText) {
        guard let log = body.linux?.log, !log.lines.isEmpty else { return }
        text.line("Filtered syslog:")
        for line in log.shown(utcOffset: WallTime(body.captureTime)?.utcOffset ?? 0) {
            text.line("\(line.time ?? "|") \(line.text)")
        }
        text.blank()
    }

    private static func images(_ images: [ImageInfo], _ text: inout CrashText) {
        text.line("Binary Images:")
        for image in images {
            let first = image.base.hexadecimal().alignedRight(18)
            let last = (image.base &+ image.size &- 1).hexadecimal().alignedRight(18)
            let uuid = image.uuid.filter { $0 != "-" }.lowercased()
            // Two spaces before "<": some readers find no image otherwise.
            text.line(
                "\(first) - \(last) \(image.name ?? "???") \(image.arch ?? "unknown-arch")  <\(uuid)> \(image.path ?? "???")"
            )
        }
        text.blank()
        text.line("EOF")
    }
}
