// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import WatchdogBase
import WatchdogLinux

/// A folder that is removed with its files.
final class TemporaryFolder {
    private let path: String
    private var files: [String] = []

    struct Failure: Error {
        let errno: Int32
    }

    init() throws {
        var template = Array("/tmp/watchdogd-recorder-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(errno: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for file in files { unlink(file) }
        rmdir(path)
    }

    /// Writes an executable file.
    ///
    /// A process that another test starts has a copy of this process's descriptors until its execve(2), and a file that
    /// is open for writing cannot be executed: ETXTBSY. Another process therefore writes the file.
    func write(_ name: String, _ bytes: some Collection<UInt8>) throws -> String {
        let file = "\(path)/\(name)"
        let source = "\(file).bytes"
        let descriptor = open(source, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o755)
        guard descriptor >= 0 else { throw Failure(errno: errno) }
        defer { close(descriptor) }
        files += [file, source]
        let bytes = Array(bytes)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure(errno: errno) }
        let copying = try spawn(
            SpawnRequest(executable: "/bin/cp", arguments: ["cp", ByteString(source), ByteString(file)]))
        guard eventually({ copying.process.hasExited }),
            try copying.process.waitExit()?.status == .exited(code: 0)
        else {
            copying.process.reapWhenItExits()
            throw Failure(errno: EIO)
        }
        return file
    }

    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }
}
