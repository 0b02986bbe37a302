// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import WatchdogLinux

@Suite("Atomic file writes")
struct AtomicFileTests {
    private func withFile(_ body: (_ folder: String, _ path: String) throws -> Void) throws {
        try withTemporaryDirectory { try body($0, "\($0)/state") }
    }

    private func content(_ path: String) throws -> [UInt8] {
        let file = try OwnedDescriptor(opening: path, flags: O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(file.number, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    @Test("A file is replaced with the requested mode, and no temporary file remains")
    func replaced() throws {
        try withFile { folder, path in
            try AtomicFile.write([1, 2, 3], to: path)
            try AtomicFile.write([4], to: path, mode: 0o604)
            #expect(try content(path) == [4])
            var information = stat()
            #expect(stat(path, &information) == 0 && information.st_mode & 0o777 == 0o604)
            #expect(try names(in: folder) == ["state"])
        }
    }

    @Test("A file is created once; a second attempt keeps the first file, and leaves no temporary file")
    func created() throws {
        try withFile { folder, path in
            try AtomicFile.create([1, 2], at: path)
            let error = #expect(throws: LinuxError.self) { try AtomicFile.create([3], at: path) }
            #expect(error?.errno == .fileExists)
            #expect(try content(path) == [1, 2])
            #expect(try names(in: folder) == ["state"])
        }
    }

    @Test(
        "Several files are written together, or none if one of them does not fit",
        .enabled(if: geteuid() == 0, "mounts a disk"))
    func several() throws {
        try withFile { folder, path in
            guard mount("tmpfs", folder, "tmpfs", 0, "size=16k") == 0 else { return print("skipped: no tmpfs") }
            defer { umount2(folder, 2) }
            let page = [UInt8](repeating: 7, count: 4096)
            // One page is in use and three are free; the files together need four.
            try AtomicFile.write([1], to: path)
            let large = ["a", "state", "b", "c"].map { (name: $0, bytes: page) }
            for (isReplaced, files) in [(true, large), (false, large.filter { $0.name != "state" } + [("d", page)])] {
                let error = #expect(throws: LinuxError.self) {
                    try AtomicFile.write(files, in: folder, replacing: isReplaced)
                }
                #expect(error?.errno.rawValue == ENOSPC)
                #expect(try names(in: folder) == ["state"] && content(path) == [1])
            }
            try AtomicFile.write([("a", [2]), ("b", [3])], in: "\(folder)/", replacing: false)
            try AtomicFile.write([("b", [4])], in: folder, replacing: true)
            #expect(try names(in: folder) == ["a", "b", "state"])
            #expect(try ["a", "b", "state"].map { try content("\(folder)/\($0)") } == [[2], [4], [1]])
            let error = #expect(throws: LinuxError.self) {
                try AtomicFile.write([("a", [6])], in: folder, replacing: false)
            }
            #expect(error?.errno == .fileExists)
            #expect(try content("\(folder)/a") == [2])
        }
    }

    @Test("A leftover of a killed process with the same id does not prevent a write")
    func leftover() throws {
        try withFile { folder, path in
            try write("half", to: "\(path).\(getpid()).tmp")
            try AtomicFile.check(path)
            try AtomicFile.write([5], to: path)
            #expect(try content(path) == [5])
            #expect(try names(in: folder) == ["state", "state.\(getpid()).tmp"])
        }
    }

    @Test("A failed write leaves the file unchanged")
    func failed() throws {
        try withFile { folder, path in
            let name = "\(folder)/\(String(repeating: "n", count: 250))"
            try write("old", to: name)
            #expect(throws: LinuxError.self) { try AtomicFile.write([6], to: name) }
            #expect(throws: LinuxError.self) { try AtomicFile.check(name) }
            #expect(try content(name) == Array("old".utf8))
            #expect(try names(in: folder).count == 1)
        }
    }

    @Test("A link is followed only if nobody else can have made it")
    func link() throws {
        try withFile { folder, path in
            try write("secret", to: "\(folder)/secret")
            #expect(symlink("secret", path) == 0)
            try AtomicFile.check(path)
            try AtomicFile.write([9], to: path)
            #expect(try content("\(folder)/secret") == [9])
            #expect(chmod(folder, 0o777) == 0)
            for attempt in [{ try AtomicFile.check(path) }, { try AtomicFile.write([8], to: path) }] {
                let error = #expect(throws: LinuxError.self) { try attempt() }
                #expect(error?.errno == .tooManyLinks)
            }
            #expect(try content("\(folder)/secret") == [9])
            #expect(try names(in: folder) == ["secret", "state"])
        }
    }

    @Test(
        "Root never writes through another user's link, however fast a folder becomes a link",
        .enabled(if: geteuid() == 0, "needs another user"))
    func exchangedFolder() throws {
        try withTemporaryDirectory { folder in
            let victim = "\(folder)/victim"
            let theirs = "\(folder)/theirs"
            let place = "\(theirs)/place"
            let other = "\(theirs)/other"
            let spare = "\(theirs)/spare"
            for made in [victim, theirs, place] { #expect(mkdir(made, 0o755) == 0) }
            #expect(symlink(victim, other) == 0)
            for owned in [theirs, place, other] { #expect(lchown(owned, 61_100, 61_100) == 0) }
            let ends = Locked(false)
            let thread = try WorkerThread.start {
                while !ends.withLock({ $0 }) {
                    rename(place, spare)
                    rename(other, place)
                    rename(place, other)
                    rename(spare, place)
                }
            }
            var written = 0
            var attempts = 0
            let end = ContinuousClock.now + patience
            // The other thread may get no CPU for a while, and leave a link there, or nothing.
            while attempts < 300 || written == 0 && ContinuousClock.now < end {
                attempts += 1
                if (try? AtomicFile.write([1], to: "\(place)/file", mode: 0o644)) != nil { written += 1 }
                try? AtomicFile.create([1], at: "\(place)/new")
            }
            ends.withLock { $0 = true }
            thread.join()
            let found = try names(in: victim)
            #expect(found == [])
            #expect(written > 0, "the folder itself is not refused")
        }
    }

    @Test(
        "Root's error names the link that it would have to follow", .enabled(if: geteuid() == 0, "needs another user"))
    func foreignLink() throws {
        try withTemporaryDirectory { folder in
            #expect(mkdir("\(folder)/victim", 0o755) == 0 && mkdir("\(folder)/theirs", 0o755) == 0)
            #expect(symlink("../victim", "\(folder)/theirs/link") == 0)
            for owned in ["theirs", "theirs/link"] { #expect(lchown("\(folder)/\(owned)", 61_100, 61_100) == 0) }
            let path = "\(folder)/theirs/link/file"
            let check = #expect(throws: LinuxError.self) { try AtomicFile.check(path) }
            let write = #expect(throws: LinuxError.self) { try AtomicFile.write([8], to: path) }
            for error in [check, write] {
                #expect(error?.errno == .tooManyLinks)
                let isNamed = error.map { "\($0)".contains("where link is a link") }
                #expect(isNamed == true)
            }
            let found = try names(in: "\(folder)/victim")
            #expect(found == [])
        }
    }

    @Test("A FIFO is written to, not replaced")
    func fifo() throws {
        try withFile { folder, path in
            #expect(mkfifo(path, 0o600) == 0)
            let reader = try OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK)
            try AtomicFile.write([7, 8], to: path)
            var bytes = [UInt8](repeating: 0, count: 10)
            #expect(read(reader.number, &bytes, bytes.count) == 2 && bytes.prefix(2) == [7, 8])
            #expect(try names(in: folder) == ["state"])
        }
    }

    @Test("The check of a FIFO goes unnoticed by its reader; a FIFO without a reader is an error, not a wait")
    func fifoCheck() throws {
        try withFile { folder, path in
            #expect(mkfifo(path, 0o600) == 0)
            try AtomicFile.check(path)
            let error = #expect(throws: LinuxError.self) { try AtomicFile.write([1], to: path) }
            #expect(error?.description == "cannot open \(path), from which nobody reads: \(Errno.noSuchDevice)")
            let reader = try OwnedDescriptor(opening: path, flags: O_RDONLY | O_NONBLOCK)
            try AtomicFile.check(path)
            // A writer that had opened and closed it would show as POLLHUP: poll(2).
            var entry = pollfd(fd: reader.number, events: Int16(POLLIN), revents: 0)
            #expect(poll(&entry, 1, 0) == 0)
            #expect(throws: LinuxError.self) { try AtomicFile.check(folder) }
        }
    }
}
