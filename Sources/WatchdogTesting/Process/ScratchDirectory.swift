// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A directory for one app's output and reports, removed with its last reference unless it is kept.
final class ScratchDirectory: Sendable {
    /// The most text of a file that is shown.
    private static let longest = 1 << 20

    private let path: String
    private let isKept = Mutex(false)

    init() throws(TestSetupError) {
        let base = getenv("TMPDIR").map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array("\(base)/watchdogd-testing-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TestSetupError("cannot create a directory in \(base): \(String(cString: strerror(errno)))")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        if !isKept.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }

    subscript(name: String) -> String { "\(path)/\(name)" }

    func keep() { isKept.withLock { $0 = true } }

    /// The contents of a file, without its last line break; empty if there is none.
    func text(_ name: String) -> String {
        guard let data = FileManager.default.contents(atPath: self[name]) else { return "" }
        let text = String(decoding: data.prefix(Self.longest), as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
