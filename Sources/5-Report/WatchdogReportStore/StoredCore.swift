// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
public import WatchdogReport

/// The kept stacks of a report that is not written yet: a hidden file, which is removed if the report is never written.
///
/// A core contains a program's memory, so only its owner may read it (mode 0600).
public final class StoredCore {
    private let file: PreparedFile

    fileprivate init(_ file: PreparedFile) { self.file = file }

    /// Gives the file its final name; replaces a planted file, and follows no link.
    ///
    /// A core that cannot be renamed is removed: its report is complete without it.
    func publish(as name: String) { try? file.rename(to: name) }
}

extension ReportStore {
    /// Writes a report's kept stacks to the disk, for ``write(_:encoded:core:)``.
    ///
    /// - Throws: ``ReportStoreError``, with code ``ReportStoreError/Code/full`` if the disk is full.
    public func set(aside core: [UInt8], of report: Report) throws(ReportStoreError) -> StoredCore {
        let token = String(UInt64.random(in: 0 ... .max), radix: 16)
        let name = ReportFileName.temporary(
            app: report.metadata.appName, time: try Self.time(of: report), token: token)
        return StoredCore(try StoreFolder(directory).create(name, core, mode: 0o600))
    }

    /// The kept stacks of a stored report, which must be a regular file beside it.
    ///
    /// - Parameter limit: the maximum size of the file.
    /// - Returns: nil if none are kept.
    /// - Throws: ``ReportStoreError`` with code ``ReportStoreError/Code/notReadable`` if this user may not read them,
    ///   and ``ReportStoreError/Code/damaged`` if the file is not a core.
    public func core(of stored: StoredReport, limit: Int) throws(ReportStoreError) -> [UInt8]? {
        let (path, report) = Self.parts(of: stored.path)
        guard ReportFileName.isReport(report) else { return nil }
        let folder = try StoreFolder(path, isToRead: true)
        let name = ReportFileName.core(of: report)
        guard folder.status(name) != nil else { return nil }
        let bytes = try folder.read(name, limit: limit + 1)
        // Byte 16 of an ELF file is its type, and 4 is ET_CORE.
        guard bytes.count <= limit, bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]), bytes.count > 16, bytes[16] == 4
        else {
            throw ReportStoreError(.damaged, "read", folder.pathOf(name), reason: "it is not a core file of watchdogd")
        }
        return bytes
    }
}
