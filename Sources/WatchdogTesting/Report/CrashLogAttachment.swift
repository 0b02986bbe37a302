// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Testing

/// Where the crash log of a failed test goes.
enum CrashLogAttachment {
    /// Names a directory for crash logs, for runners without attachments.
    private static let variable = "WATCHDOGD_TEST_REPORTS"

    /// Attaches a crash log to the Swift Testing test that is running, and copies it to the directory for crash logs.
    static func attach(_ path: String) {
        guard let data = FileManager.default.contents(atPath: path) else { return }
        let name = path.split(separator: "/").last.map(String.init) ?? "crash.ips"
        if Test.current != nil { Attachment.record(Array(data), named: name) }
        guard let directory = getenv(variable).map({ String(cString: $0) }), !directory.isEmpty else { return }
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try? FileManager.default.copyItem(atPath: path, toPath: "\(directory)/\(name)")
    }
}
