// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("A full disk", .enabled(if: geteuid() == 0, "mounts a small disk"))
struct FullDiskTests {
    private let large = [UInt8](repeating: 0x61, count: 64 << 10)

    private func refusal(_ body: () throws(LinuxError) -> Void) -> LinuxError? {
        do throws(LinuxError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    @Test("keeps a file that would be replaced, without a temporary file beside it")
    func replacing() throws {
        _ = try withSmallDisk { folder in
            let path = "\(folder)/file"
            try AtomicFile.write(Array("old".utf8), to: path)
            let replacing = refusal { () throws(LinuxError) in try AtomicFile.write(large, to: path) }
            #expect(replacing?.errno.rawValue == ENOSPC)
            #expect(replacing?.description.contains(path) == true)
            let creating = refusal { () throws(LinuxError) in try AtomicFile.create(large, at: "\(path)-2") }
            #expect(creating?.errno.rawValue == ENOSPC)
            #expect(Procfs.read(path) == Array("old".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
        }
    }

    @Test("keeps the checkpoint in a state file, which accepts the next one that fits")
    func state() throws {
        _ = try withSmallDisk { folder in
            let path = "\(folder)/state"
            let file = try StateFile(creating: path, format: 1, capacity: 128 << 10)
            try file.write(checkpoint: [1, 2, 3])
            let failure = refusal { () throws(LinuxError) in try file.write(checkpoint: large) }
            #expect(failure?.errno.rawValue == ENOSPC)
            #expect(try StateFile(opening: path, upTo: 1).contents().checkpoint == [1, 2, 3])
            #expect(mount("", folder, "", UInt(MS_REMOUNT), "size=1m") == 0)
            try file.write(checkpoint: large)
            #expect(try StateFile(opening: path, upTo: 1).contents().checkpoint == large)
        }
    }
}
