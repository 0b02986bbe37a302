// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import WatchdogLinux

@Suite("State files")
struct StateFileTests {
    private func withFile(_ body: (String) throws -> Void) throws {
        try withTemporaryDirectory { try body("\($0)/a.state") }
    }

    private func contents(_ path: String, upTo newest: UInt32 = 1) throws -> StateFile.Contents {
        try StateFile(opening: path, upTo: newest).contents()
    }

    private func reason(_ path: String, upTo newest: UInt32 = 1) -> StateFileError.Reason? {
        do {
            _ = try contents(path, upTo: newest)
            return nil
        } catch {
            return (error as? StateFileError)?.reason
        }
    }

    /// Overwrites bytes, like an unfinished write, or worse.
    private func damage(_ path: String, at offset: Int, _ bytes: [UInt8]) throws {
        let file = try OwnedDescriptor(opening: path, flags: O_RDWR)
        #expect(pwrite(file.number, bytes, bytes.count, off_t(offset)) == bytes.count)
    }

    @Test("return the last value written")
    func latest() throws {
        try withFile { path in
            let file = try StateFile(creating: path, format: 1, capacity: 10_000)
            for round in 0..<5 as Range<UInt8> {
                try file.write(checkpoint: [round] + [UInt8](repeating: 7, count: 9_000))
                #expect(try contents(path).pulse == nil, "a pulse belongs to the checkpoint before it")
                for pulse in 0..<3 as Range<UInt8> { try file.write(pulse: [round, pulse]) }
                let read = try contents(path)
                #expect(read.checkpoint.first == round && read.checkpoint.count == 9_001)
                #expect(read.pulse == [round, 2])
            }
        }
    }

    @Test("a file that does not stay open is open from the first use to close()")
    func closing() throws {
        try withFile { path in
            let file = try StateFile(creating: path, format: 1, capacity: 100, staysOpen: false)
            let moved = "\(path).moved"
            #expect(rename(path, moved) == 0)
            try file.write(checkpoint: [1])
            try file.write(pulse: [2])
            file.close()
            #expect(throws: LinuxError.self) { try file.write(checkpoint: [3]) }
            #expect(try contents(moved).checkpoint == [1])
            #expect(try contents(moved).pulse == [2])
            #expect(rename(moved, path) == 0)
            try file.write(checkpoint: [4])
            #expect(try contents(path).checkpoint == [4])
        }
    }

    @Test("are continued by the next writer")
    func successor() throws {
        try withFile { path in
            do {
                let file = try StateFile(creating: path, format: 1, capacity: 100)
                try file.write(checkpoint: [1])
                try file.write(pulse: [1])
            }
            let file = try StateFile(opening: path, upTo: 1)
            #expect(try file.contents().checkpoint == [1])
            try file.write(pulse: [2])
            #expect(try contents(path).pulse == [2])
            try file.write(checkpoint: [3])
            #expect(try contents(path).checkpoint == [3])
            #expect(try contents(path).pulse == nil)
        }
    }

    @Test("keep their content from before an unfinished write, wherever it stopped")
    func torn() throws {
        try withFile { path in
            let file = try StateFile(creating: path, format: 1, capacity: 4_000)
            try file.write(checkpoint: [UInt8](repeating: 1, count: 4_000))
            try file.write(checkpoint: [UInt8](repeating: 2, count: 4_000))
            // The third record replaces the first, after the room for one record of 4,032 bytes.
            let slot = 8192 + 4096
            for length in [1, 8, 24, 31, 32, 33, 2_000] {
                try damage(path, at: slot, [UInt8](repeating: 0xa5, count: length))
                #expect(try contents(path).checkpoint == [UInt8](repeating: 2, count: 4_000))
            }
            // With both damaged, no complete record is left.
            try damage(path, at: 8192 + 100, [0xa5])
            #expect(reason(path) == .damaged)
        }
    }

    @Test("files of a newer watchdogd, of an earlier boot and of unknown origin are distinguished")
    func foreign() throws {
        try withFile { path in
            #expect({ if case .unreadable? = reason(path) { true } else { false } }())
            let file = try StateFile(creating: path, format: 2, capacity: 100)
            try file.write(checkpoint: [1])
            #expect(reason(path, upTo: 1) == .newer(2))
            #expect(reason(path, upTo: 2) == nil)
            try damage(path, at: 24, Array("0".utf8) + Array("11111111".utf8))
            #expect(reason(path, upTo: 2) == .otherBoot)
            try damage(path, at: 0, [0])
            #expect(reason(path, upTo: 2) == .damaged)
            #expect(truncate(path, 10) == 0)
            #expect(reason(path, upTo: 2) == .damaged)
        }
    }

    @Test(
        "files with absurd lengths are rejected without allocating memory for them",
        arguments: [16, 8192 + 16, 4096 + 16])
    func absurd(offset: Int) throws {
        try withFile { path in
            let file = try StateFile(creating: path, format: 1, capacity: 100)
            try file.write(checkpoint: [1])
            try file.write(checkpoint: [2])
            try file.write(pulse: [2])
            try damage(path, at: offset, [UInt8](repeating: 0xff, count: 8))
            if offset == 16 {
                #expect(reason(path) == .damaged)
            } else {
                #expect(try contents(path).checkpoint.count == 1)
            }
        }
    }

    @Test("must belong to this user, and links and pipes are not followed")
    func access() throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/a.state"
            let file = try StateFile(creating: path, format: 1, capacity: 100)
            try file.write(checkpoint: [1])
            var information = stat()
            #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o600)
            #expect(symlink(path, "\(directory)/link") == 0)
            #expect({ if case .unreadable? = reason("\(directory)/link") { true } else { false } }())
            #expect(mkfifo("\(directory)/pipe", 0o600) == 0)
            #expect(reason("\(directory)/pipe") != nil)
            #expect(throws: LinuxError.self) { try file.write(checkpoint: [UInt8](repeating: 0, count: 101)) }
            file.remove()
            #expect(Glibc.access(path, F_OK) != 0)
        }
    }
}
