// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogLinux

@testable import WatchdogSimulation

@Suite("The writer of a trace", .enabled(if: geteuid() == 0, "mounts a small disk"))
struct TraceWriterTests {
    /// Each line is 100 bytes long.
    private static func lines(_ numbers: Range<Int>) -> [UInt8] {
        numbers.flatMap { number in
            let text = "\(number)"
            return Array(text.utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 99 - text.count) + [
                UInt8(ascii: "\n")
            ]
        }
    }

    /// Runs the body with a folder on a disk of 8 KiB, unless a container forbids mounting.
    private func withSmallDisk(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/watchdog-test-XXXXXX".utf8CString)
        let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { rmdir(folder) }
        guard mount("tmpfs", folder, "tmpfs", 0, "size=8k") == 0 else {
            return print("skipped: no tmpfs may be mounted")
        }
        defer { umount2(folder, 2) }
        try body(folder)
    }

    private func open(_ path: String) throws -> OwnedDescriptor {
        try OwnedDescriptor(opening: path, flags: O_RDWR | O_CREAT, mode: 0o600)
    }

    private func content(_ path: String) throws -> [UInt8] {
        let file = try OwnedDescriptor(opening: path, flags: O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(file.number, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    @Test("keeps lines that do not fit a full disk, and writes them in order once there is room")
    func recovery() throws {
        try withSmallDisk { folder in
            let path = "\(folder)/trace"
            let writer = TraceWriter(try open(path), path, limit: 32 << 10)
            #expect(writer.write(Self.lines(0..<120)))
            let isFull = eventually { writer.failure?.errno.rawValue == ENOSPC }
            #expect(isFull)
            #expect(mount("", folder, "", UInt(MS_REMOUNT), "size=64k") == 0)
            #expect(writer.write(Self.lines(120..<130)))
            #expect(writer.finish(within: patience))
            #expect(writer.failure == nil)
            let written = try content(path)
            #expect(written == Self.lines(0..<130))
        }
    }

    @Test("leaves only whole lines if the disk stays full, and reports why")
    func fullToTheEnd() throws {
        try withSmallDisk { folder in
            let path = "\(folder)/trace"
            let writer = TraceWriter(try open(path), path, limit: 16 << 10)
            #expect(writer.write(Self.lines(0..<120)))
            #expect(writer.finish(within: patience))
            let isNamed = writer.failure.map { "\($0)".contains(path) }
            #expect(isNamed == true)
            let written = try content(path)
            #expect(written == Self.lines(0..<81))
            #expect(!writer.write(Self.lines(0..<160)), "no more than the limit waits")
        }
    }
}
