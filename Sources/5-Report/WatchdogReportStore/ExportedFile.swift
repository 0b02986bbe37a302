// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux

/// Writes reports to files outside the store, for other programs.
public enum ExportedFile {
    /// Writes a file that the user named; only the owner may read a new file.
    ///
    /// A regular file is replaced once the new one is complete and on disk, and keeps its mode; on failure, the old
    /// file stays unchanged. Anything else, such as `/dev/stdout`, is written in place. A report reveals much about an
    /// app and its machine; sharing it is the user's decision.
    public static func write(_ text: String, to path: String) throws(ReportStoreError) {
        try write(text, to: ExportPlace(path))
    }

    /// Writes a file in a folder that was opened before, like ``write(_:to:)``.
    public static func write(_ text: String, to place: ExportPlace) throws(ReportStoreError) {
        let file = try PartialFile(place)
        try file.append(text)
        try file.finish()
    }

    /// Writes bytes to a file, like ``write(_:to:)``.
    ///
    /// - Parameter replaces: whether an existing regular file or link is replaced; otherwise it is an error.
    public static func write(
        _ bytes: [UInt8], to place: ExportPlace, replacing replaces: Bool
    ) throws(ReportStoreError) {
        let file = try PartialFile(place, replacing: replaces)
        try file.append(bytes)
        try file.finish()
    }

    /// Creates a file that only this user may read.
    ///
    /// - Parameters:
    ///   - folder: the folder, such as `/tmp`.
    ///   - suffix: the end of the file's name, such as `.html`.
    /// - Returns: the path of the file.
    public static func create(_ text: String, in folder: String, suffix: String) throws(ReportStoreError) -> String {
        var template = Array("\(folder)/watchdogd-report-XXXXXX\(suffix)".utf8CString)
        // mkstemps(3) opens with O_EXCL and mode 0600, so it never follows a planted link.
        let file = mkstemps(&template, Int32(suffix.utf8.count))
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard file >= 0 else { throw ReportStoreError("create", path, errno: errno) }
        do throws(ReportStoreError) {
            try fill(file, path, text)
        } catch {
            // Remove the incomplete file: it is useless, and occupies a full disk.
            unlink(path)
            throw error
        }
        return path
    }

    private static func fill(_ file: Int32, _ path: String, _ text: String) throws(ReportStoreError) {
        try reporting("write", path) { () throws(Errno) in
            try closing(file) { () throws(Errno) in try writeAll(Array(text.utf8), to: file) }
        }
    }
}

/// A file outside the store to which lines are appended.
public final class ExportedLines {
    private let file: PartialFile

    /// Creates a file that the user named, as ``ExportedFile/write(_:to:)`` does.
    public convenience init(path: String) throws(ReportStoreError) { try self.init(ExportPlace(path)) }

    /// Creates a file in a folder that was opened before.
    public init(_ place: ExportPlace) throws(ReportStoreError) { file = try PartialFile(place) }

    /// Writes a line, which ends with a newline.
    public func write(_ line: String) throws(ReportStoreError) { try file.append(line) }

    /// Completes the file; without this, the previous file stays.
    public func finish() throws(ReportStoreError) { try file.finish() }
}
