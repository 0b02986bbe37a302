// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Files outside the store that reports are written to for other programs.
public enum ExportedFile {
    /// Writes a file that the user named, replacing what it held; only its owner may read a new one.
    ///
    /// A report tells much of an app and its machine; who wants to share it decides so.
    public static func write(_ text: String, to path: String) throws(ReportStoreError) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw ReportStoreError("create", path, errno: errno) }
        try fill(file, path, text)
    }

    /// Writes a new file that only this user may read.
    ///
    /// - Parameters:
    ///   - folder: where, such as `/tmp`.
    ///   - suffix: the end of its name, such as `.html`.
    /// - Returns: its path.
    public static func create(_ text: String, in folder: String, suffix: String) throws(ReportStoreError) -> String {
        var template = Array("\(folder)/watchdogd-report-XXXXXX\(suffix)".utf8CString)
        // mkstemps(3) opens with O_EXCL and mode 0600: no link that somebody prepared is followed.
        let file = mkstemps(&template, Int32(suffix.utf8.count))
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard file >= 0 else { throw ReportStoreError("create", path, errno: errno) }
        try fill(file, path, text)
        return path
    }

    private static func fill(_ file: Int32, _ path: String, _ text: String) throws(ReportStoreError) {
        let bytes = Array(text.utf8)
        var offset = 0
        var error: Int32 = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                error = count < 0 ? errno : EIO
                break
            }
            offset += count
        }
        // Network file systems tell of a full disk at the end only.
        if close(file) != 0, error == 0 { error = errno }
        guard error == 0 else { throw ReportStoreError("write", path, errno: error) }
    }
}
