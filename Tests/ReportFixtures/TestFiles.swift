// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// Files and folders of tests.
package enum TestFiles {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(_ operation: String) {
            description = "\(operation): \(String(cString: strerror(errno)))"
        }
    }

    package static func folder(of file: String) -> String {
        String(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])
    }

    package static func read(_ path: String) -> [UInt8]? {
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

    package static func write(_ bytes: [UInt8], to path: String) throws {
        guard let file = fopen(path, "w") else { throw Failure("open \(path)") }
        defer { fclose(file) }
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count else { throw Failure("write \(path)") }
    }

    package static func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    package static func setTime(_ path: String, seconds: Int) throws {
        var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        guard utimensat(AT_FDCWD, path, &times, 0) == 0 else { throw Failure("utimensat \(path)") }
    }

    package static func names(in folder: String) -> [String] {
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

    /// Creates an empty folder that the caller must remove.
    package static func makeFolder(in parent: String = "/tmp") throws -> String {
        var template = Array("\(parent)/watchdogd-report-tests.XXXXXX".utf8CString)
        guard let path = mkdtemp(&template).map({ String(cString: $0) }) else { throw Failure("mkdtemp") }
        return path
    }

    /// Runs the body with an empty folder and removes it with its content.
    package static func withFolder<Result>(
        in parent: String = "/tmp", _ body: (String) throws -> Result
    ) throws -> Result {
        let path = try makeFolder(in: parent)
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
