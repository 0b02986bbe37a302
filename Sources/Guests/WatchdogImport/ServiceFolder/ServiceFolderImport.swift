// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogConfiguration

/// Converts a service folder to an app: runsv(8), s6-supervise, s6-rc-compile.
struct ServiceFolderImport {
    private let folder: ServiceFolder
    private var draft: AppDraft

    static func result(
        name: AppName, folder: ServiceFolder, specifiers: Specifiers
    ) throws(ImportError) -> ImportResult {
        var reading = ServiceFolderImport(name, folder, specifiers)
        return try reading.read()
    }

    private init(_ name: AppName, _ folder: ServiceFolder, _ specifiers: Specifiers) {
        self.folder = folder
        draft = AppDraft(name: name, origin: folder.path, specifiers: specifiers)
    }

    private func place(_ name: String) -> ImportPlace { ImportPlace(file: "\(folder.path)/\(name)") }

    private mutating func read() throws(ImportError) -> ImportResult {
        var result = ImportResult()
        if let type = folder.text("type"), type != "longrun" {
            let message = "a \(type.singleLine(limit: 20)) of s6-rc is not a program that keeps running"
            result.notes = [ImportNote(kind: .skipped, place: place("type"), message: message)]
            return result
        }
        guard folder.files["run"] != nil else {
            throw ImportError(ImportPlace(file: folder.path), "there is no file \"run\" in this folder")
        }
        try putScript()
        putTimes()
        putRestart()
        putReadiness()
        putRest()
        result.apps = [try draft.finished()]
        result.notes = draft.notes
        return result
    }

    private mutating func putScript() throws(ImportError) {
        let script = folder.files["run"] ?? []
        let at = ImportPlace(file: "\(folder.path)/run", line: 1)
        let isProgram = script.starts(with: [0x7f] + "ELF".utf8)
        guard isProgram || script.starts(with: "#!".utf8) else {
            throw ImportError(at, "the script has no #! line, so it cannot be run")
        }
        let lines = script.split(separator: 0x0a, maxSplits: 1, omittingEmptySubsequences: false)
        guard isProgram || lines[0].last != 0x0d else {
            throw ImportError(at, "the #! line ends with a carriage return, so the script cannot be run")
        }
        if let fault = draft.put(.execStart, UnitText.command(["\(folder.path)/run"])) {
            throw ImportError(place("run"), fault)
        }
        // runsv(8) and s6-supervise start the script in its folder.
        draft.carry(.workingDirectory, UnitText.escapedSpecifiers(folder.path), of: "run", at: place("run"))
        guard !isProgram, let reason = RunScript(script).reasonToWarn else { return }
        draft.note(.changed, at: place("run"), reason)
    }

    private mutating func putTimes() {
        if let text = folder.text("timeout-up") {
            if let time = milliseconds(text, "timeout-up") {
                draft.carry(.launch, time, of: "timeout-up", at: place("timeout-up"))
            } else if Int64(text) == 0 {
                draft.set(.launch, ForeignTime.never.text)
                draft.note(
                    .changed, at: place("timeout-up"),
                    "timeout-up became Launch=\(ForeignTime.never.text): no allowance is infinite")
            }
        }
        let kill = folder.text("timeout-kill").flatMap { milliseconds($0, "timeout-kill") }
        if let kill {
            draft.carry(.terminate, kill, of: "timeout-kill", at: place("timeout-kill"))
        } else {
            draft.set(.terminate, "1min")
            draft.note(
                .changed, at: ImportPlace(file: folder.path),
                "Terminate=1min: watchdogd kills a program that does not end, and this service is never killed")
        }
    }

    /// A number of milliseconds as a time span; nil for 0, which means forever.
    private mutating func milliseconds(_ text: String, _ name: String) -> String? {
        guard let number = Int64(text), (0...86_400_000_000).contains(number) else {
            draft.note(.dropped, at: place(name), "\(Printable.quoted(text)) is not a number of milliseconds")
            return nil
        }
        return number == 0 ? nil : TimeSpan.format(.milliseconds(number))
    }

    private mutating func putRestart() {
        // Both supervisors wait a second between two starts, and retry without a limit.
        draft.set(.policy, "always")
        draft.set(.delay, "1s")
        draft.set(.factor, "1")
        draft.set(.limit, "infinity")
        if folder.names.contains("down") { draft.set(.enabled, "no") }
    }

    private mutating func putReadiness() {
        if let descriptor = folder.text("notification-fd") {
            draft.note(
                .dropped, at: place("notification-fd"),
                "an app gets no descriptor \(descriptor.singleLine(limit: 10)); "
                    + "let the program report by sd_notify, or set Readiness=listen:PORT")
        }
        if folder.names.contains("check") {
            let command = "exec:" + UnitText.escapedSpecifiers(UnitText.shell("\(folder.path)/check"))
            guard draft.carry(.readiness, command, of: "check", at: place("check")) else { return }
            draft.note(
                .changed, at: place("check"),
                "check became Readiness=exec:…, which runs until it succeeds; a launch longer than Launch= fails")
        }
    }

    private mutating func putRest() {
        if let signal = folder.text("down-signal"), !["SIGTERM", "TERM", "15"].contains(signal) {
            draft.note(
                .dropped, at: place("down-signal"),
                "\(signal.singleLine(limit: 20)) has no counterpart: an app ends at SIGTERM")
        }
        for (name, reason) in Self.reasons where folder.names.contains(name) {
            draft.note(.dropped, at: place(name), reason)
        }
    }

    private static let reasons = [
        ("finish", "no command runs after an end; do this in run, before exec"),
        ("log", "the output goes to the journal; 'watchdogd logs' shows it"),
        ("control", "an app has no commands for signals: it gets SIGTERM, also if control/t does something else"),
        ("max-death-tally", "how many ends are remembered is not a setting; 'watchdogd launches' shows them"),
        ("timeout-finish", "no command runs after an end"),
        ("timeout-down", "Terminate= is all the time that an app has to end"),
        ("dependencies", "apps do not depend on each other"),
        ("dependencies.d", "apps do not depend on each other"),
        ("producer-for", "apps have no pipelines; the output goes to the journal"),
        ("consumer-for", "apps have no pipelines"),
        ("pipeline-name", "apps have no pipelines"),
        ("flag-newpidns", "an app has no namespace of its own"),
        ("flag-essential", "any app can be stopped"),
        ("flag-recommended", "apps do not depend on each other"),
        ("nosetsid", "each app has a session of its own"),
        ("lock-fd", "an app gets no descriptors"),
        ("instance", "copies of a folder are not apps; import each of them"),
        ("instances", "copies of a folder are not apps; import each of them"),
        ("template", "copies of a folder are not apps; import each of them"),
    ]
}
