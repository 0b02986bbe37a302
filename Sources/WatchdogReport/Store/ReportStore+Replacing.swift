// SPDX-License-Identifier: Apache-2.0

import Glibc

extension ReportStore {
    /// Puts a report in place of a stored one, all of it or nothing; whoever reads meanwhile has one or the other.
    ///
    /// Mode, owner and time stay those of the file, so that its place in the list and its age do.
    public func replace(_ stored: StoredReport, with report: Report) throws(ReportStoreError) {
        let bytes: [UInt8]
        do {
            bytes = try ReportCoding.encode(report)
        } catch {
            throw ReportStoreError(.invalidReport, "write", stored.path, reason: error.description)
        }
        // The file itself, where the name is a link to it.
        guard let target = realpath(stored.path, nil) else {
            throw ReportStoreError("find", stored.path, errno: errno)
        }
        defer { free(target) }
        let path = String(cString: target)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let name = String(parts.last ?? "")
        let folder = try StoreFolder(parts.count > 2 ? parts.dropLast().joined(separator: "/") : "/")
        try folder.replace(name, bytes, temporary: ".\(name.prefix(128)).\(UInt64.random(in: 0 ... .max)).tmp")
    }
}

extension StoreFolder {
    /// Replaces a regular file, and keeps its mode, owner and times.
    fileprivate func replace(_ name: String, _ bytes: [UInt8], temporary: String) throws(ReportStoreError) {
        guard let old = attributes(name) else { throw ReportStoreError("replace", pathOf(name), errno: errno) }
        guard old.st_mode & S_IFMT == S_IFREG else {
            throw ReportStoreError(.failed, "replace", pathOf(name), reason: "not a regular file")
        }
        try create(temporary, bytes, like: old)
        guard rename(temporary, to: name) else {
            let error = errno
            remove(temporary)
            throw ReportStoreError("replace", pathOf(name), errno: error)
        }
        try synchronise()
    }
}
