// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import Testing

/// Attaches the crash logs of one app to the test that awaits it, each one once.
///
/// Isolation: any thread.
final class CrashLogAttachments: Sendable {
    /// The environment variable with a directory for crash logs, for runners without attachments.
    private static let variable = "WATCHDOGD_TEST_REPORTS"

    private let attached = Mutex<Set<String>>([])

    /// Attaches crash logs to the current Swift Testing test, unless they are attached already.
    ///
    /// The current test is a task-local value: on other threads, this does nothing.
    ///
    /// - Parameters:
    ///   - paths: The crash logs.
    ///   - scratch: Their directory, which is retained until Swift Testing has dropped or saved them.
    func attach(_ paths: [String], in scratch: ScratchDirectory) {
        guard Test.current != nil else { return }
        for path in paths where access(path, R_OK) == 0 && attached.withLock({ $0.insert(path).inserted }) {
            Attachment.record(CrashLogFile(path: path, scratch: scratch), named: Self.name(of: path))
        }
    }

    /// Copies a crash log to the directory for crash logs, if there is one.
    static func copy(_ path: String) {
        guard let directory = getenv(variable).map({ String(cString: $0) }), !directory.isEmpty else { return }
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try? FileManager.default.copyItem(atPath: path, toPath: "\(directory)/\(name(of: path))")
    }

    private static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? "crash.ips"
    }
}

/// A crash log that is read only if Swift Testing saves it.
private struct CrashLogFile: Attachable, Sendable {
    let path: String
    let scratch: ScratchDirectory

    func withUnsafeBytes<R>(
        for attachment: borrowing Attachment<CrashLogFile>, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R {
        // Do not throw: Swift Testing would record an issue of the test.
        let bytes = FileManager.default.contents(atPath: path).map { Array($0) } ?? Array("cannot read \(path)".utf8)
        return try bytes.withUnsafeBytes(body)
    }
}
