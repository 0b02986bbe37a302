// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Builds C programs with the system's compiler, each source once per test run.
final class Compiler: Sendable {
    static let shared = Compiler()

    private let executables = Mutex<[String: String]>([:])

    /// The path of the program, or with `-shared` the library, built from `source`.
    func executable(_ source: String, name: String = "subject", flags: [String] = []) throws -> String {
        let key = ([name, source] + flags).joined(separator: "\n")
        return try executables.withLock { executables in
            if let path = executables[key] { return path }
            let path = "\(try temporaryDirectory())/\(name)"
            try build(source, path, flags)
            executables[key] = path
            return path
        }
    }

    private func build(_ source: String, _ path: String, _ flags: [String]) throws {
        let file = open("\(path).c", O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, 0o600)
        let bytes = Array(source.utf8)
        guard file >= 0, write(file, bytes, bytes.count) == bytes.count else {
            throw Subject.Failure(description: "cannot write \(path).c")
        }
        close(file)
        let compiler = try Subject(
            "/usr/bin/cc", ["-O1", "-pthread", "-o", path, "\(path).c"] + flags, environment: ["PATH=/usr/bin:/bin"])
        let status = try compiler.reap()
        guard status == 0 else { throw Subject.Failure(description: "cc failed with status \(status)") }
    }
}

/// A new directory that is removed when the test process exits.
func temporaryDirectory() throws -> String {
    var template = Array("/tmp/watchdog-capture-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Subject.Failure(description: "mkdtemp: \(errno)") }
    let path = template.withUnsafeBufferPointer {
        String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    guard chmod(path, 0o755) == 0 else { throw Subject.Failure(description: "chmod: \(errno)") }
    TemporaryDirectories.shared.add(path)
    return path
}

private final class TemporaryDirectories: Sendable {
    static let shared = TemporaryDirectories()
    private let paths = Mutex<[String]>([])

    private init() {
        atexit { TemporaryDirectories.shared.remove() }
    }

    func add(_ path: String) {
        paths.withLock { $0.append(path) }
    }

    func remove() {
        paths.withLock { paths in
            for path in paths {
                guard let directory = opendir(path) else { continue }
                while let entry = readdir(directory) {
                    withUnsafeBytes(of: entry.pointee.d_name) { name in
                        _ = unlinkat(dirfd(directory), String(decoding: name.prefix { $0 != 0 }, as: UTF8.self), 0)
                    }
                }
                closedir(directory)
                rmdir(path)
            }
        }
    }
}
