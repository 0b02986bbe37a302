// SPDX-License-Identifier: Apache-2.0

import CLinux
import FoundationEssentials
import Glibc
import WatchdogCapture
import WatchdogVerdict

/// One run of the `watchdogd-symbolicate` that was built with the tests.
struct Helper {
    var exitCode: Int32
    var output: [UInt8]
    var errors: String

    /// Runs it with arguments and descriptors 3, 4, ….
    init(_ arguments: [String] = [], descriptors: [Int32]) throws {
        var ends: [Int32] = [-1, -1]
        guard wd_pipe(&ends, 0) == 0 else { throw Failure(description: "pipe: \(errno)") }
        defer { close(ends[0]) }
        let command = ["\(try Subject.buildDirectory())/watchdogd-symbolicate"] + arguments
        let process = try Process(command, descriptors: descriptors, standardError: ends[1])
        close(ends[1])
        output = try process.readToEnd()
        exitCode = process.wait()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let count = read(ends[0], &buffer, buffer.count)
        errors = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// Runs it on a snapshot.
    init(_ arguments: [String] = [], snapshot: Snapshot) throws {
        try self.init(arguments, descriptors: [snapshot.memory] + snapshot.modules)
    }

    /// Decodes its output.
    func captured() throws -> CapturedProcess {
        try JSONDecoder().decode(CapturedProcess.self, from: Data(output))
    }
}

/// Runs `body` with descriptors of files that contain the given bytes and that no other process can see.
func withScratch<Result>(_ files: [[UInt8]], _ body: ([Int32]) throws -> Result) throws -> Result {
    var descriptors: [Int32] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    for bytes in files {
        guard let file = tmpfile() else { throw Failure(description: "tmpfile: \(errno)") }
        defer { fclose(file) }
        let descriptor = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw Failure(description: "fcntl: \(errno)") }
        descriptors.append(descriptor)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            throw Failure(description: "write: \(errno)")
        }
    }
    return try body(descriptors)
}

/// The bytes of a descriptor's file, from its beginning.
func bytes(behind descriptor: Int32) throws -> [UInt8] {
    var status = stat()
    fstat(descriptor, &status)
    let size = Int(status.st_size)
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
    guard bytes.count == size else { throw Failure(description: "pread: \(errno)") }
    return bytes
}
