// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogLinux
public import WatchdogRendering
public import WatchdogReport
public import WatchdogReportStore

/// Reports of one or many hosts: in a folder, in a folder of hosts' folders, and in journals.
///
/// An incident in several places appears once; the file takes precedence, because symbol names may have been added to
/// it.
///
/// Isolation: one thread at a time. All calls block on the disk.
public final class ReportArchive {
    /// The places to read reports from.
    public struct Sources: Sendable {
        /// The folder; nil for none.
        public var folder: String?
        /// The journal; nil for none.
        public var journal: JournalFiles.Place?
        /// Whether to include entries of other users' watchdogd.
        public var includesAllUsers = false
        /// The only host to include; nil for all.
        public var host: String?

        /// Creates the sources, of all hosts and of trusted users only.
        public init(folder: String?, journal: JournalFiles.Place? = nil) {
            self.folder = folder
            self.journal = journal
        }
    }

    /// A list of reports, newest first.
    public struct List {
        /// The reports, at most as many as the limit.
        public var reports: [StoredReport]
        /// Whether there are more than the limit.
        public var isCut: Bool

        init(_ reports: [StoredReport], atMost limit: Int?) {
            self.reports = limit.map { Array(reports.prefix($0)) } ?? reports
            isCut = limit.map { reports.count > $0 } ?? false
        }
    }

    /// Whether a journal is read.
    public var hasJournal: Bool { journal != nil }

    /// Called before each report is read, with the numbers of read reports and of all; nil if the latter is unknown.
    public var onProgress: (_ done: Int, _ total: Int?) -> Void = { _, _ in }

    let store: ReportStore?
    let journal: JournalReports?
    let sources: Sources
    private var failures: [String]

    /// Opens the journal, if there is one.
    ///
    /// - Throws: ``ReportStoreError`` if no journal file can be read.
    public convenience init(_ sources: Sources) throws(ReportStoreError) {
        guard let place = sources.journal else {
            self.init(sources, entries: nil)
            return
        }
        do throws(JournalFiles.Problem) {
            let files = try JournalFiles(place)
            self.init(sources, entries: files, failures: files.problems.map { "\(ReportStoreError($0))" })
        } catch {
            throw ReportStoreError(error)
        }
    }

    init(
        _ sources: Sources, entries: (any JournalEntries)?, user: UInt32 = geteuid(),
        machine: String? = JournalFiles.machine, failures: [String] = []
    ) {
        self.sources = sources
        self.failures = failures
        store = sources.folder.map { ReportStore(directory: $0) }
        journal = entries.map {
            JournalReports($0, user: user, machine: machine, includesAllUsers: sources.includesAllUsers)
        }
    }

    /// Returns sentences about omitted reports; each is returned once.
    public func takeNotes() -> [String] {
        defer { failures = [] }
        var notes = failures
        if journal?.isDamaged == true {
            notes.append(
                "a journal file is damaged, and some entries cannot be read: journalctl --verify says which file")
        }
        if let count = journal?.imitations, count > 0 {
            notes.append(
                count == 1
                    ? "1 entry imitates watchdogd's and was ignored"
                    : "\(count) entries imitate watchdogd's and were ignored")
        }
        if let count = journal?.otherUsers, count > 0 {
            notes.append(
                (count == 1
                    ? "1 entry of another user's watchdogd was" : "\(count) entries of other users' watchdogd were")
                    + " left out; --all-users includes \(count == 1 ? "it" : "them")")
        }
        return notes
    }

    // MARK: - Finding

    /// Lists reports, newest first; of each only the first line is read.
    ///
    /// - Parameter limit: the maximum number; the newest are kept. Nil for all.
    public func list(_ filter: ReportFilter, atMost limit: Int?) throws(ReportStoreError) -> List {
        var filter = filter
        let limit = [limit, filter.limit].compactMap(\.self).min()
        filter.limit = nil
        if journal == nil, let store, let limit {
            // One more than the limit, to know whether there are more.
            let (reports, problems) = try store.newestOfHosts(limit.addingSaturated(1)) { passes($0, filter) }
            note(problems)
            return List(reports, atMost: limit)
        }
        let files = try stored(filter)
        var seen = Set(files.all.compactMap { $0.metadata?.incidentID })
        var found = files.passing
        guard let journal else { return List(files.passing, atMost: limit) }
        journal.scan(filter, host: sources.host) { announcement in
            guard !journal.isRepeat, seen.insert(announcement.incident).inserted else { return true }
            let report = journal.confirmed(journal.stored(announcement))
            if let fault = report.fault { failures.append("cannot read \(report.path): \(fault)") }
            found.append(report)
            // Find one more than the limit, to know whether there are more.
            return limit.map { found.count - files.passing.count <= $0 } ?? true
        }
        let times = found.map(\.time)
        let order = found.indices.sorted {
            WallTime.isNewer((times[$0], found[$0].path), (times[$1], found[$1].path))
        }
        return List(order.map { found[$0] }, atMost: limit)
    }

    /// The files: all, and those that pass the filter.
    func stored(
        _ filter: ReportFilter
    ) throws(ReportStoreError) -> (all: [StoredReport], passing: [StoredReport]) {
        guard let store else { return ([], []) }
        let (all, problems) = try store.listHosts()
        note(problems)
        return (all, all.filter { passes($0, filter) })
    }

    /// Keeps errors for ``takeNotes()``.
    func note(_ problems: [ReportStoreError]) { failures += problems.map(\.description) }

    /// Whether a file passes the filter, and is of the wanted host.
    func passes(_ report: StoredReport, _ filter: ReportFilter) -> Bool {
        guard filter.passes(report) else { return false }
        guard let host = sources.host?.lowercased() else { return true }
        return name(ofHostOf: report)?.lowercased() == host
    }

    /// The host of a report: from its folder, or else from its first line, which earlier versions wrote without it.
    private func name(ofHostOf report: StoredReport) -> String? {
        report.host ?? report.metadata?.linux?.host ?? (try? store?.salvage(report))?.report.body.linux?.hostName
    }

    /// Finds one report.
    ///
    /// - Parameter reference: `latest`, the first four or more digits of an incident's UUID, the name of a file in the
    ///   folder, the path of any file, or an app's name for its latest report.
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/notFound`` or
    ///   ``ReportStoreError/Code/ambiguous``.
    public func find(_ reference: String) throws(ReportStoreError) -> StoredReport {
        let isFile = reference.contains("/") || reference.hasSuffix(".ips")
        do throws(ReportStoreError) {
            return try find(reference, isFile: isFile)
        } catch {
            let isName = error.code == .notFound && !isFile && !error.isMissingFolder
            guard isName, let report = try list(ReportFilter(app: reference), atMost: 1).reports.first else {
                throw error
            }
            return report
        }
    }

    private func find(_ reference: String, isFile: Bool) throws(ReportStoreError) -> StoredReport {
        guard journal != nil || sources.host != nil, !isFile else {
            return try (store ?? ReportStore(directory: ".")).find(reference)
        }
        let place = sources.journal == nil ? sources.folder ?? "" : "the journal"
        if reference == "latest" {
            guard let report = try list(ReportFilter(), atMost: 1).reports.first else {
                throw ReportStoreError(.notFound, "find", "report", reason: "\(place) holds no report")
            }
            return report
        }
        return try ReportStore.match(reference, among: try candidates(for: reference), in: place)
    }

    /// The reports of the incidents with this prefix.
    private func candidates(for prefix: String) throws(ReportStoreError) -> [StoredReport] {
        let prefix = prefix.uppercased()
        var found = try stored(ReportFilter()).passing.filter {
            $0.metadata?.incidentID.uppercased().hasPrefix(prefix) == true
        }
        var seen = Set(found.compactMap { $0.metadata?.incidentID })
        guard let journal else { return found }
        journal.scan(ReportFilter(), host: sources.host, incident: prefix) { announcement in
            if !journal.isRepeat, seen.insert(announcement.incident).inserted {
                found.append(journal.stored(announcement))
            }
            return found.count < 10
        }
        return found
    }

    // MARK: - Reading

    /// Reads as much of a report as possible.
    ///
    /// - Returns: the report and its defects; none for an intact one.
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/damaged`` if nothing can be shown.
    public func salvage(_ stored: StoredReport) throws(ReportStoreError) -> (report: Report, faults: [String]) {
        if stored.entry != nil, let journal { return try journal.salvage(stored) }
        return try (store ?? ReportStore(directory: ".")).salvage(stored)
    }
}

extension ReportStoreError {
    /// Creates the error for a journal that cannot be read.
    init(_ problem: JournalFiles.Problem) {
        let errno = problem.errno.rawValue
        switch (problem.path, errno) {
        case ("", ENODATA), ("", ENOENT):
            self.init(
                .notFound, "read", "the journal", reason: "this machine has none",
                suggestion: "name a folder with --journal=DIR")
        case ("", _):
            self.init(
                .notReadable, "read", "the journal", reason: "permission denied",
                suggestion: "root and the groups adm and systemd-journal may read it")
        case (let path, ENODATA) where Self.isFolder(path):
            self.init(.notFound, "read", path, reason: "it holds no journal file (NAME.journal)")
        case (let path, ENOENT):
            self.init(
                .notFound, "read the journal", path, reason: "no such file or folder",
                suggestion: "--journal alone reads this machine's; put it last, or write --journal=PATH")
        case (let path, EACCES), (let path, EPERM): self.init(reading: "read", path, errno: errno)
        case (let path, EMFILE), (let path, ENFILE):
            self.init(
                .failed, "read", path, reason: "too many open files", suggestion: "raise the limit with ulimit -n")
        case (let path, _):
            self.init(.damaged, "read", path, reason: "it is damaged, or not a journal file")
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
