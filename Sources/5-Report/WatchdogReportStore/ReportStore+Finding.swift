// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
public import WatchdogReport

extension ReportStore {
    /// The number of bytes to read for a file's first line, which usually has a few hundred; `most` is for longer ones.
    private static let firstLineBytes = (usual: 2 << 10, most: 64 << 10)
    /// The minimum number of digits of an incident's UUID in a query.
    private static let prefixLength = 4

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
        let folder = try StoreFolder(directory, isToRead: true)
        let names = try folder.names()
        var reports = try look(into: folder, names: names)
        var failures: [ReportStoreError] = []
        var incidents = Set(reports.compactMap { $0.metadata?.incidentID })
        for name in names.sorted() where !name.hasPrefix(".") && folder.status(name)?.isFolder == true {
            do throws(ReportStoreError) {
                let inner = try StoreFolder(folder.pathOf(name), isToRead: true)
                for report in try look(into: inner, names: inner.names(), host: name) {
                    let isNew = report.metadata.map { incidents.insert($0.incidentID).inserted } ?? true
                    if isNew { reports.append(report) }
                }
            } catch {
                failures.append(error)
            }
        }
        return (Self.sorted(reports), failures)
    }

    private func look(
        into folder: borrowing StoreFolder, names: [String], host: String? = nil
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
                reason: "an incident ID needs at least \(prefixLength) digits")
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

    private func look(at name: String, in folder: borrowing StoreFolder, host: String? = nil) -> StoredReport? {
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

extension StoredReport {
    /// The folder of its file.
    fileprivate var folder: String? {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
    }
}
