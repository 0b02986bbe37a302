// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import WatchdogLinux

/// Runs the body with a directory that is removed afterwards.
func withTemporaryDirectory(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/watchdog-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw LinuxError("create a directory", Errno(rawValue: errno)) }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}
