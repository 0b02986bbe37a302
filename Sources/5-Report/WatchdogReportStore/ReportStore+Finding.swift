// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogReport

extension ReportStore {
    /// The number of bytes to read for a file's first line, which usually has a few hundred; `most` is for longer ones.
    private static let firstLineBytes = (usual: 2 << 10, most: 64 << 10)
    /// The minimum number of digits of an incident's UUID in a query.
    private static let prefixLength = 4
    /// A name has its host's local time, so names of one host may be in the wrong order when clocks change, and those of
    /// hosts in different zones always.
    private static let (clockChange, zones): (Duration, Duration) = (.seconds(3_600), .seconds(26 * 3_600))

    /// All reports, newest first; only the first line of each is read.
    ///
    /// - Throws: ``ReportStoreError`` if the folder cannot be read.
    public func list() throws(ReportStoreError) -> [StoredReport] {
        let folder = try StoreFolder(directory, isToRead: true)
        return Self.sorted(try look(into: folder, names: folder.names()))
    }

    /// All reports of the folder and of its subfolders, newest first: a folder of hosts' folders.
    ///
    /// - Returns: the reports, without duplicates of an incident, and the errors of unreadable subfolders.
    /// - Throws: ``ReportStoreError`` if the folder itself cannot be read.
    public func listHosts() throws(ReportStoreError) -> (reports: [StoredReport], failures: [ReportStoreError]) {
        var reports: [StoredReport] = []
        let failures = try visitHosts { report, _ in
            reports.append(report)
            return true
        }
        return (Self.sorted(reports), failures)
    }

    /// The newest reports of the folder and of its subfolders that pass, newest first.
    ///
    /// Of the others only the names are read, except of those whose order the names leave open.
    ///
    /// - Throws: ``ReportStoreError`` if the folder itself cannot be read.
    public func newestOfHosts(
        _ limit: Int, where passes: (StoredReport) -> Bool
    ) throws(ReportStoreError) -> (reports: [StoredReport], failures: [ReportStoreError]) {
        var reports: [StoredReport] = []
        var end: WallTime?
        let failures = try visitHosts { report, _ in
            let doubt = report.host == nil ? Self.clockChange : Self.zones
            if let end, end.since(report.time) > doubt { return false }
            guard passes(report) else { return true }
            reports.append(report)
            if reports.count == limit { end = report.time }
            return true
        }
        return (Array(Self.sorted(reports).prefix(limit)), failures)
    }

    /// Visits the reports of the folder and of its subfolders in the order of their names' times, newest first, one at a
    /// time: each as it is read, without duplicates of an incident.
    ///
    /// - Parameter visit: called with the report and the number of files; returns false to end.
    /// - Returns: the errors of unreadable subfolders.
    /// - Throws: ``ReportStoreError`` if the folder itself cannot be read.
    public func visitHosts(
        _ visit: (_ report: StoredReport, _ files: Int) -> Bool
    ) throws(ReportStoreError) -> [ReportStoreError] {
        var (files, hosts, failures) = try reportFiles()
        files.sort { ($0.stamp, $1.folder, $0.name) > ($1.stamp, $0.folder, $1.name) }
        var incidents: Set<IncidentID> = []
        var open: (index: Int, folder: StoreFolder)?
        for file in files {
            let host = hosts[file.folder]
            if open?.index != file.folder {
                do throws(ReportStoreError) {
                    let path = host.map { directory.hasSuffix("/") ? directory + $0 : "\(directory)/\($0)" }
                    open = (file.folder, try StoreFolder(path ?? directory, isToRead: true))
                } catch {
                    failures.append(error)
                    continue
                }
            }
            guard let folder = open?.folder, let report = look(at: file.name, in: folder, host: host) else { continue }
            // An incident in two folders is one; without a UUID nobody can tell.
            if let id = report.metadata.flatMap({ IncidentID($0.incidentID) }), !incidents.insert(id).inserted,
                host != nil
            {
                continue
            }
            guard visit(report, files.count) else { break }
        }
        return failures
    }

    /// The files of the folder and of its subfolders, with the subfolders' names; nil is the folder itself.
    private func reportFiles() throws(ReportStoreError) -> ([ReportFile], hosts: [String?], [ReportStoreError]) {
        let folder = try StoreFolder(directory, isToRead: true)
        let names = try folder.names()
        var hosts: [String?] = [nil]
        var failures: [ReportStoreError] = []
        var files: [ReportFile] = []
        func add(_ names: [String]) {
            for name in names where ReportFileName.isReport(name) {
                files.append(ReportFile(name: name, folder: hosts.count - 1, stamp: ReportFileName.stamp(of: name)))
            }
        }
        add(names)
        for name in names.sorted() where !name.hasPrefix(".") && !name.hasSuffix(".ips") {
            guard folder.status(name)?.isFolder == true else { continue }
            do throws(ReportStoreError) {
                let inner = try StoreFolder(folder.pathOf(name), isToRead: true).names()
                hosts.append(name)
                add(inner)
            } catch {
                failures.append(error)
            }
        }
        return (files, hosts, failures)
    }

    private func look(
        into folder: StoreFolder, names: [String], host: String? = nil
    ) throws(ReportStoreError) -> [StoredReport] {
        var reports: [StoredReport] = []
        for name in names where ReportFileName.isReport(name) {
            guard let report = look(at: name, in: folder, host: host) else { continue }
            reports.append(report)
        }
        return reports
    }

    private static func sorted(_ reports: [StoredReport]) -> [StoredReport] {
        // A report's time is text: parse it once, not in every comparison.
        let times = reports.map(\.time)
        let order = reports.indices.sorted {
            WallTime.isNewer((times[$0], reports[$0].name), (times[$1], reports[$1].name))
        }
        return order.map { reports[$0] }
    }

    /// The report of an incident, searched among the app's latest; nil if none matches or is readable.
    public func report(of incident: IncidentID, app: String) -> StoredReport? {
        guard let folder = try? StoreFolder(directory, isToRead: true), let names = try? folder.names() else {
            return nil
        }
        let stem = ReportFileName.sanitised(app) + "-"
        // The name contains the time.
        let latest = names.filter { $0.hasPrefix(stem) && ReportFileName.isReport($0) }.sorted(by: >).prefix(64)
        for name in latest {
            guard let report = look(at: name, in: folder) else { continue }
            if report.metadata?.incidentID == incident.description { return report }
        }
        return nil
    }

    /// Finds one report.
    ///
    /// - Parameter reference: `latest`, the first four or more digits of an incident's UUID, the name of a file in the
    ///   store, or the path of any file.
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/notFound`` or
    ///   ``ReportStoreError/Code/ambiguous``.
    public func find(_ reference: String) throws(ReportStoreError) -> StoredReport {
        if reference.contains("/") { return try look(atPath: reference) }
        if reference.hasSuffix(".ips") {
            // The folder may be missing or inaccessible to this user, and the file may be elsewhere.
            if let folder = try? StoreFolder(directory, isToRead: true), let report = look(at: reference, in: folder) {
                return report
            }
            return try look(atPath: reference)
        }
        let reports = try listHosts().reports
        if reference == "latest" {
            guard let report = reports.first else {
                throw ReportStoreError(.notFound, "find", "report", reason: "\(directory) holds no report")
            }
            return report
        }
        return try Self.match(reference, among: reports, in: directory)
    }

    /// The report whose incident's UUID begins with some digits.
    ///
    /// - Parameter place: where the reports are, for errors.
    package static func match(
        _ reference: String, among reports: [StoredReport], in place: String
    ) throws(ReportStoreError) -> StoredReport {
        guard reference.count >= prefixLength else {
            throw ReportStoreError(
                .notFound, "find", "report \"\(reference)\"",
                reason: "\(place) holds no report of an app of this name, and an incident ID has at least "
                    + "\(prefixLength) digits")
        }
        let matches = reports.filter { $0.metadata?.incidentID.uppercased().hasPrefix(reference.uppercased()) == true }
        guard let match = matches.first else {
            throw ReportStoreError(
                .notFound, "find", "report \"\(reference)\"", reason: "\(place) holds no such report",
                suggestion: "use an app's name, the first digits of an incident ID, a file or \"latest\"")
        }
        guard matches.count == 1 else {
            let names = matches.prefix(5).map { $0.entry == nil ? $0.name : $0.metadata?.incidentID ?? "" }
            let list = names.joined(separator: ", ") + (matches.count > 5 ? ", ..." : "")
            throw ReportStoreError(
                .ambiguous, "find", "report \"\(reference)\"", reason: "\(matches.count) reports match: \(list)")
        }
        return match
    }

    /// Reads a report that must be intact.
    ///
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/damaged`` if the file is not a valid report.
    public func read(_ stored: StoredReport) throws(ReportStoreError) -> Report {
        let bytes = try bytes(of: stored)
        do {
            return try ReportCoding.decode(bytes)
        } catch {
            throw ReportStoreError(.damaged, "read", stored.path, reason: error.description)
        }
    }

    /// Reads as much of a report as possible.
    ///
    /// - Returns: the report and the file's defects; none for an intact file.
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/damaged`` if nothing can be shown.
    public func salvage(_ stored: StoredReport) throws(ReportStoreError) -> (report: Report, faults: [String]) {
        let bytes = try bytes(of: stored)
        do {
            return try ReportCoding.salvage(bytes)
        } catch {
            throw ReportStoreError(.damaged, "read", stored.path, reason: error.description)
        }
    }

    private func bytes(of stored: StoredReport) throws(ReportStoreError) -> [UInt8] {
        let limit = ReportLimits.fileBytes + 1
        return stored.isInStore
            ? try StoreFolder(stored.folder ?? directory, isToRead: true).read(stored.name, limit: limit)
            : try StoreFolder.read(path: stored.path, limit: limit)
    }

    private func look(at name: String, in folder: StoreFolder, host: String? = nil) -> StoredReport? {
        guard let status = folder.status(name), status.isRegular else { return nil }
        let line: Result<[UInt8], ReportStoreError> = .init(catching: { () throws(ReportStoreError) in
            let start = try folder.read(name, limit: Self.firstLineBytes.usual)
            return start.count < Self.firstLineBytes.usual || start.contains(UInt8(ascii: "\n"))
                ? start : try folder.read(name, limit: Self.firstLineBytes.most)
        })
        return Self.report(name, folder.pathOf(name), status, line, isInStore: true, host: host)
    }

    private func look(atPath path: String) throws(ReportStoreError) -> StoredReport {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw ReportStoreError(reading: "find", path, errno: errno, code: errno == ENOENT ? .notFound : .failed)
        }
        let line = try StoreFolder.read(path: path, limit: Self.firstLineBytes.most)
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return Self.report(name, path, StoreFolder.Status(status), .success(line), isInStore: false)
    }

    private static func report(
        _ name: String, _ path: String, _ status: StoreFolder.Status, _ line: Result<[UInt8], ReportStoreError>,
        isInStore: Bool, host: String? = nil
    ) -> StoredReport {
        var metadata: ReportMetadata?
        var fault: String?
        do {
            metadata = try ReportCoding.decodeMetadata(line.get())
        } catch {
            fault = "\(error)"
        }
        return StoredReport(
            name: name, path: path, size: status.size, modified: status.modified, metadata: metadata, fault: fault,
            isInStore: isInStore, host: host)
    }
}

/// A file whose name is a report's.
private struct ReportFile {
    let name: String
    /// The index of its folder.
    let folder: Int
    /// The time in its name.
    let stamp: UInt64
}

extension StoredReport {
    /// The folder of its file.
    fileprivate var folder: String? {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
    }
}
