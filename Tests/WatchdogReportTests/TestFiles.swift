// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// Files and folders of tests.
enum TestFiles {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ operation: String) {
            description = "\(operation): \(String(cString: strerror(errno)))"
        }
    }

    static func folder(of file: String) -> String {
        String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
    }

    static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw Failure("open \(path)") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failure("write \(path)") }
    }

    static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    static func setTime(_ path: String, seconds: Int) throws {
        var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        guard utimensat(AT_FDCWD, path, &times, 0) == 0 else { throw Failure("utimensat \(path)") }
    }

    static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Creates an empty folder; whoever asks for it removes it.
    static func makeFolder() throws -> String {
        var template = Array("/tmp/watchdogd-report-tests.XXXXXX".utf8CString)
        guard let path = mkdtemp(&template).map({ String(cString: $0) }) else { throw Failure("mkdtemp") }
        return path
    }

    /// Calls the body with an empty folder and removes it with everything in it.
    static func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
        let path = try makeFolder()
        defer { remove(path) }
        return try body(path)
    }

    private static func remove(_ folder: String) {
        chmod(folder, 0o700)
        for name in names(in: folder) {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            if status.st_mode & S_IFMT == S_IFDIR { remove(path) } else { unlink(path) }
        }
        rmdir(folder)
    }
}
