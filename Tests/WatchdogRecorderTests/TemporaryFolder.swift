// SPDX-License-Identifier: Apache-2.0

import Glibc

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
    func write(_ name: String, _ bytes: some Collection<UInt8>) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o755)
        guard descriptor >= 0 else { throw Failure(errno: errno) }
        defer { close(descriptor) }
        files.append(file)
        let bytes = Array(bytes)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure(errno: errno) }
        return file
    }

    func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }
}
