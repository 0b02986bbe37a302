// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux
import WatchdogReport

@testable import WatchdogCapture

/// Cores that somebody has substituted for the kernel's.
@Suite("Forged core files")
struct ForgedCoreTests {
    private func read(
        _ builder: CoreBuilder, isLate: @escaping () -> Bool = { false }
    ) throws -> CoreContents {
        let file = try #require(OwnedDescriptor(sealing: builder.bytes))
        return try CoreContents(reading: file.number, of: builder.process, isLate: isLate)
    }

    @Test("A well-formed core has its process, threads and mappings")
    func whole() throws {
        var builder = CoreBuilder()
        builder.threads = [4_712, 4_711]
        builder.map(Array("/srv/photos".utf8), bytes: [])
        let core = try read(builder)
        #expect(core.thread == 4_712)
        let contents = try core.snapshot.contents()
        #expect(contents.process.name == "photos")
        #expect(contents.threads.map(\.id) == [4_711, 4_712])
        #expect(contents.mappings.map(\.path) == ["/srv/photos"])
        #expect(contents.process.truncation == nil)
    }

    // MARK: - Files

    @Test("A FIFO or device that it names as a mapped file is not opened")
    func device() throws {
        let path = try temporaryDirectory() + "/fifo"
        mkfifo(path, 0o600)
        var builder = CoreBuilder()
        builder.map(Array(path.utf8), bytes: Self.page)
        let watch = try OpenWatch(path)
        #expect(try read(builder).snapshot.modules.isEmpty)
        #expect(!watch.sawOpen)
        close(open(path, O_RDONLY | O_NONBLOCK))
        #expect(watch.sawOpen, "the test sees what is opened")
    }

    @Test("A file is passed on only if its whole first page is in the core, not for the four common bytes")
    func knowledge() throws {
        let folder = try temporaryDirectory()
        let secret = Array("\u{7F}ELF".utf8) + (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for size in [secret.count, 4_096, 100] {
            let path = "\(folder)/\(size)"
            try writeFile(Array(secret.prefix(size)), to: path)
            let page = Array(secret.prefix(min(size, 4_096)))
            let padded = page + [UInt8](repeating: 0, count: 4_096 - page.count)
            func modules(_ bytes: [UInt8]) throws -> Int {
                var builder = CoreBuilder()
                builder.map(Array(path.utf8), bytes: bytes)
                return try read(builder).snapshot.modules.count
            }
            #expect(try modules(padded) == 1)
            #expect(try modules(Array(padded.prefix(4))) == 0)
            #expect(try modules(Array(padded.prefix(4_095))) == 0)
            var other = padded
            other[4_095] ^= 1
            #expect(try modules(other) == 0)
        }
    }

    @Test("However many files it names, at most twice a snapshot's limit are read")
    func crowdOfFiles() throws {
        let path = try temporaryDirectory() + "/last"
        try writeFile(Self.page, to: path)
        for (others, count) in [(2_047, 1), (2_048, 0)] {
            var builder = CoreBuilder()
            for index in 1...others { builder.map(Array("/no/\(index)".utf8), at: UInt64(index) << 12, bytes: []) }
            builder.map(Array(path.utf8), at: 1 << 40, bytes: Self.page)
            #expect(try read(builder).snapshot.modules.count == count)
        }
    }

    private static let page = Array("\u{7F}ELF".utf8) + [UInt8](repeating: 1, count: 4_092)

    // MARK: - Names

    @Test(
        "A process's name is one line, whatever characters it contains",
        arguments: [
            ("a\r\nb", "a\rb"), ("a\r\nPID=1", "a\rPID=1"), ("a\nb", "ab"), ("\r\n", "\r"), ("é\n\u{301}", "é\u{301}"),
        ])
    func names(name: String, read expected: String) throws {
        var builder = CoreBuilder()
        builder.name = Array(name.utf8)
        let process = try read(builder).snapshot.contents().process
        #expect(Array(process.name.utf8) == Array(expected.utf8))
        #expect(process.id == 4_711)
    }

    // MARK: - Effort

    @Test("Note segments beyond the second are not read: one place in the file counts once")
    func repeatedNotes() throws {
        var builder = CoreBuilder()
        // An NT_FILE without files, as large as possible, many times.
        builder.moreNotes = Array((0..<100).map { _ in CoreBuilder.note(0x4649_4C45, []) }.joined())
        for count in [1, 2, 3, 60_000] {
            builder.noteSegments = count
            var looks = 0
            _ = try read(builder) {
                looks += 1
                return false
            }
            // 103 notes and the end of each segment, one reading for each header, one for the thread.
            #expect(looks == 104 * min(count, 2) + count + 1)
        }
    }

    @Test("All segments together have a limited number of notes")
    func manyNotes() throws {
        let limit = 8 * 4_096
        for (count, isThere) in [(limit - 4, true), (limit - 3, false)] {
            var builder = CoreBuilder()
            builder.moreNotes = Array((0..<count).map { _ in CoreBuilder.note(2, []) }.joined())
            builder.moreNotes += CoreBuilder.thread(4_712)
            #expect(try read(builder).snapshot.threadCount == (isThere ? 2 : 1))
        }
    }

    @Test("A list of mapped files is read once, even if it is empty")
    func emptyFiles() throws {
        var builder = CoreBuilder()
        builder.segments = [CoreBuilder.Segment(start: 0x1000)]
        let list = [UInt64(1), 4_096, 0x1000, 0x2000, 0].flatMap { withUnsafeBytes(of: $0.littleEndian, Array.init) }
        builder.moreNotes = CoreBuilder.note(0x4649_4C45, list + Array("/srv/late\0".utf8))
        #expect(try read(builder).snapshot.contents().mappings.map(\.path) == [""])
    }

    @Test("A file that is not read in time is abandoned, wherever the time runs out")
    func time() throws {
        var builder = CoreBuilder()
        builder.threads = [4_711, 4_712]
        builder.map(Array("/srv/photos".utf8), bytes: [])
        var all = 0
        _ = try read(builder) {
            all += 1
            return false
        }
        #expect(all > 8)
        for moment in 1...all + 1 {
            var looks = 0
            let isLate = {
                looks += 1
                return looks == moment
            }
            if moment > all {
                _ = try read(builder, isLate: isLate)
            } else {
                #expect(throws: CoreError("to read it takes too long")) { try read(builder, isLate: isLate) }
            }
        }
        let file = try #require(OwnedDescriptor(sealing: builder.bytes))
        #expect(throws: CoreError.self) {
            try CoreContents(reading: file.number, of: builder.process, until: Instant.now())
        }
        _ = try CoreContents(reading: file.number, of: builder.process, until: Instant.now() + patience)
    }

    @Test("Mappings beyond a snapshot's limit are omitted, which is reported")
    func manyMappings() throws {
        for (count, truncation) in [(65_536, nil), (65_537, "1 mappings")] as [(Int, String?)] {
            var builder = CoreBuilder()
            builder.segments = (1...count).map { CoreBuilder.Segment(start: UInt64($0) << 12) }
            let contents = try read(builder).snapshot.contents()
            #expect(contents.mappings.count == min(count, 65_536))
            #expect(contents.process.truncation == truncation)
        }
    }
}
