// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A fresh copy of a folder for each run, always under the same path.
final class DataCopy {
    /// The environment variable with the copy's path.
    static let variable = "WATCHDOGD_DATA"
    /// The placeholder for the path in the program's arguments.
    static let placeholder = "{data}"

    /// The path of the copy.
    let path: String
    private let source: String
    private let folder: String

    /// Creates the folder for the copies.
    init(of source: String) throws(MeasuringError) {
        var isFolder: Bool = false
        guard FileManager.default.fileExists(atPath: source, isDirectory: &isFolder), isFolder else {
            throw .noInput("--data \(source): there is no such folder")
        }
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base.hasPrefix("/") ? base : "/tmp")/watchdogd-measure-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw .refused("--data: cannot create a folder in \(base)") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(folder)/data"
        self.source = source
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Replaces the copy with a fresh one.
    func renew() throws(MeasuringError) {
        do {
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
            try FileManager.default.copyItem(atPath: source, toPath: path)
        } catch {
            throw .refused("--data \(source): cannot copy the folder to \(path)")
        }
    }
}

extension DataCopy {
    /// An argument with the copy's path instead of the placeholder.
    func fill(_ argument: String) -> String {
        argument.split(separator: Self.placeholder, omittingEmptySubsequences: false).joined(separator: path)
    }
}
