// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogControl
import WatchdogFleet
import WatchdogLaunch
import WatchdogLinux
import WatchdogRendering
import WatchdogReport
import WatchdogReportStore
import WatchdogRun

/// Selects where crash logs are read from.
struct ReportsOption: ParsableArguments {
    /// Stands for this machine's journal.
    static let local = "local"

    @Option(
        help: ArgumentHelp(
            "Directory of crash logs, or with a subdirectory for each host (default: that of the daemon at WATCHDOGD_CONTROL, or where run writes yours).",
            valueName: "dir"),
        completion: .directory
    )
    var reports: String?

    @Option(
        defaultAsFlag: Self.local, parsing: .next,
        help: ArgumentHelp(
            "Read crash logs from the journal: this machine's, a file, or a directory of journal files.",
            valueName: "path"),
        completion: .file())
    var journal: String?

    @Option(help: ArgumentHelp("Read only crash logs of this host.", valueName: "name"))
    var host: String?

    @Flag(help: "Read the journal entries of every user's watchdogd, not only of root's and your own.")
    var allUsers = false

    func validate() throws {
        guard journal != "" else { throw ValidationError("--journal= is empty; name a file or directory") }
        guard !allUsers || journal != nil else { throw ValidationError("--all-users requires --journal") }
    }

    /// The folder that reports are read from; nil if only a journal is.
    var folder: String? { reports ?? (journal == nil ? Self.daemonFolder ?? Run.defaultReportsDirectory : nil) }

    /// The folder of the daemon that `WATCHDOGD_CONTROL` names; nil without the variable, or if it does not say.
    private static let daemonFolder: String? = {
        guard case .at = DaemonChoice.unselected else { return nil }
        do {
            return try DaemonChoice.unselected.withClient { client throws(ControlClientError) in
                try client.describeDaemon().reports
            }
        } catch {
            // The error has been printed; the user's own reports may still be what is asked for.
            return nil
        }
    }()

    /// Whether the folder may be missing because nothing has ever been reported.
    private func isStillEmpty(_ error: ReportStoreError) -> Bool {
        reports == nil && journal == nil && error.isMissingFolder
    }

    func open() throws -> ReportArchive {
        var sources = ReportArchive.Sources(folder: folder)
        sources.journal = journal.map { $0 == Self.local ? .local : .path($0) }
        sources.includesAllUsers = allUsers
        sources.host = host
        return try Failure.reporting { try ReportArchive(sources) }
    }

    /// Reads from the archive, and says what was left out; nil if the default directory does not exist yet.
    ///
    /// - Parameter progress: shows how far it is; nil where that would be in the way.
    func reading<Value>(
        _ archive: ReportArchive, showing progress: WorkProgress? = nil, _ body: (ReportArchive) throws -> Value
    ) throws -> Value? {
        archive.onProgress = { progress?.show($0, of: $1, "reading crash logs") }
        defer {
            progress?.clear()
            for note in archive.takeNotes() { StandardError.say(note) }
        }
        do {
            return try body(archive)
        } catch let error as ReportStoreError where isStillEmpty(error) {
            StandardError.say("no crash logs yet in \(folder ?? "")")
            return nil
        } catch let error as ReportStoreError {
            throw Failure.exit(for: error)
        }
    }

    /// One report, as far as it can be read; faults are printed on standard error.
    func report(_ reference: String) throws -> Report {
        let archive = try open()
        return try read(find(reference, in: archive), in: archive).report
    }

    /// Finds one report without reading it.
    func find(_ reference: String, in archive: ReportArchive) throws -> StoredReport {
        do {
            return try archive.find(reference)
        } catch  where isStillEmpty(error) {
            StandardError.say("cannot find report: no crash logs yet in \(folder ?? "")")
            throw ExitCode(66)
        } catch {
            throw Failure.exit(for: error)
        }
    }

    /// Reads as much of a report as possible; faults are printed on standard error.
    func read(_ stored: StoredReport, in archive: ReportArchive) throws -> (report: Report, isWhole: Bool) {
        let (report, faults) = try Failure.reporting { try archive.salvage(stored) }
        for fault in faults {
            StandardError.say("\(stored.path.singleLine(limit: 4_096)) cannot be read completely: \(fault)")
        }
        return (report, faults.isEmpty)
    }
}
