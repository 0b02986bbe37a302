// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Facts for measurements")
struct MeasuringFactsTests {
    @Test("Process counters include faults of children, and their CPU time in ticks")
    func counters() throws {
        let line = "7 (a) b) S 1 7 7 0 -1 4194560 100 20 3 4 9 9 50 25 20 0 1 0 123 1 1"
        let counters = try #require(ProcessCounters(parsing: Array(line.utf8)))
        #expect(counters.minorFaults == 120)
        #expect(counters.majorFaults == 7)
        #expect(counters.cpuTime == ProcessCPU.clockTick * 75)
        for damaged in ["", "7 (a", "7 (a) S 1 2 3", "7 (a) S 1 7 7 0 -1 4194560 x 20 3 4 9 9 50 25 20"] {
            #expect(ProcessCounters(parsing: Array(damaged.utf8)) == nil)
        }
    }

    @Test("Counters of this process grow, and those of a missing one are nil")
    func own() throws {
        let before = try #require(ProcessCounters.read(getpid()))
        // The allocator may return pages that have been written before.
        let pages = mmap(nil, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        try #require(pages != MAP_FAILED)
        memset(try #require(pages), 1, 4 << 20)
        munmap(pages, 4 << 20)
        let after = try #require(ProcessCounters.read(getpid()))
        #expect(after.minorFaults > before.minorFaults)
        #expect(after.cpuTime > before.cpuTime)
        #expect(ProcessCounters.read(0x7fff_fff0) == nil)
    }

    @Test("Mapped files include paths with spaces, but no deleted, anonymous or special ones")
    func mappedFiles() {
        func path(_ line: String) -> String? { MappedFiles.path(in: Array(line.utf8)[...]) }
        #expect(path("7f00-7f01 r-xp 00000000 fe:01 12                  /usr/lib/a b.so") == "/usr/lib/a b.so")
        #expect(path("7f00-7f01 r-xp 00000000 fe:01 12                  /usr/lib/a.so (deleted)") == nil)
        #expect(path("7f00-7f01 rw-p 00000000 00:00 0 ") == nil)
        #expect(path("7f00-7f01 rw-p 00000000 00:00 0                   [heap]") == nil)
        #expect(path("/") == nil)
        #expect(MappedFiles.paths(of: getpid()).contains { $0.contains("libc.so") })
    }

    @Test("A socket is listed once it listens, and is found in its process")
    func listening() throws {
        let sockets = try ListeningSockets()
        let before = try sockets.inodes()
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #expect(number >= 0)
        defer { close(number) }
        var status = stat()
        #expect(fstat(number, &status) == 0)
        let inode = UInt32(status.st_ino)
        #expect(!before.contains(inode))
        #expect(try !sockets.inodes().contains(inode))
        #expect(listen(number, 1) == 0)
        #expect(try sockets.inodes().contains(inode))
        #expect(ListeningSockets.process(getpid(), hasOneOf: [inode]))
        #expect(!ListeningSockets.process(getpid(), hasOneOf: [0]))
    }

    @Test("A file is evicted, and remaining pages are reported; anything but a file is rejected")
    func eviction() throws {
        var template = Array("/var/tmp/watchdogd-evict-XXXXXX".utf8CString)
        let number = mkstemp(&template)
        #expect(number >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            close(number)
            unlink(path)
        }
        let bytes = [UInt8](repeating: 7, count: 1 << 20)
        #expect(write(number, bytes, bytes.count) == bytes.count)
        let rest = try PageCache.evict(path)
        #expect(rest.size == 1 << 20)
        #expect(try #require(rest.resident) <= 1 << 20)
        #expect(throws: LinuxError.self) { try PageCache.evict("/dev/null") }
        #expect(throws: LinuxError.self) { try PageCache.evict("/nonexistent") }
    }

    @Test("This thread is not waiting for events")
    func events() {
        #expect(!EventWait.hasMainThread(of: 0x7fff_fff0))
    }
}
