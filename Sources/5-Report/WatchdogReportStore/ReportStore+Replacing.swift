// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
public import WatchdogReport

extension ReportStore {
    /// Replaces a stored report atomically: a concurrent reader gets either the old or the new one.
    ///
    /// The file keeps its mode, owner and times, so that its position in lists and its age stay the same.
    public func replace(_ stored: StoredReport, with report: Report) throws(ReportStoreError) {
        let bytes: [UInt8]
        do {
            bytes = try ReportCoding.encode(report)
        } catch {
            throw ReportStoreError(.invalidReport, "write", stored.path, reason: error.description)
        }
        let (folder, name) = Self.parts(of: stored.isInStore ? stored.path : try Self.target(of: stored.path))
        let token = String(UInt64.random(in: 0 ... .max), radix: 16)
        try StoreFolder(folder).replace(name, bytes, temporary: ReportFileName.temporary(replacing: name, token: token))
    }

    /// The file that a user named, with the link resolved if it is one.
    ///
    /// In the store's folder itself, links are not followed: any user with write permission could plant one in place of
    /// a report.
    private static func target(of path: String) throws(ReportStoreError) -> String {
        guard let target = realpath(path, nil) else { throw ReportStoreError("find", path, errno: errno) }
        defer { free(target) }
        return String(cString: target)
    }

    /// Deletes a stored report and its kept stacks; a missing report is not an error.
    ///
    /// The owner of a folder may replace it after it was listed, so no link is followed, and the file must be the
    /// listed one. The path must therefore be canonical.
    public func delete(_ stored: StoredReport) throws(ReportStoreError) {
        let (path, name) = Self.parts(of: stored.path)
        let folder = try StoreFolder(withoutLinks: path)
        guard let status = folder.status(name) else { return }
        guard status.isRegular, status.size == stored.size, status.modified == stored.modified else {
            throw ReportStoreError(.failed, "delete", stored.path, reason: "it changed after it was listed")
        }
        let isRemoved = ReportFileName.isReport(name) ? folder.removeReport(name) : folder.remove(name)
        guard isRemoved || errno == ENOENT else {
            throw ReportStoreError("delete", stored.path, errno: errno)
        }
        try folder.synchronise()
    }

    static func parts(of path: String) -> (folder: String, name: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.dropLast().joined(separator: "/")
        return (folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder, String(parts.last ?? ""))
    }
}

extension StoreFolder {
    /// Replaces a regular file, keeping its mode, owner and times.
    fileprivate func replace(_ name: String, _ bytes: [UInt8], temporary: String) throws(ReportStoreError) {
        guard let old = attributes(name) else { throw ReportStoreError("replace", pathOf(name), errno: errno) }
        guard old.st_mode & S_IFMT == S_IFREG else {
            throw ReportStoreError(.failed, "replace", pathOf(name), reason: "not a regular file")
        }
        let file = try create(temporary, bytes, like: old)
        try reporting("replace", pathOf(name)) { () throws(Errno) in try file.rename(to: name) }
        try synchronise()
    }
}
