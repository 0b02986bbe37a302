// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Reading back a program's output")
struct LogFileTests {
    private func print(_ text: String, to file: OwnedDescriptor) {
        let bytes = Array(text.utf8)
        Glibc.write(file.number, bytes, bytes.count)
    }

    private func texts(_ file: LogFile, _ change: (inout LogLimit) -> Void = { _ in }) -> [String] {
        var limit = LogLimit()
        change(&limit)
        return LogSource.file(file).tail(limit).map(\.text)
    }

    private func withFile(_ flags: Int32 = O_APPEND, _ body: (String, OwnedDescriptor) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let path = "\(directory)/log"
            try body(path, try OwnedDescriptor(opening: path, flags: O_WRONLY | O_CREAT | flags))
        }
    }

    @Test("output since the launch is returned, earlier output is not")
    func sinceLaunch() throws {
        try withFile { path, file in
            print("of the launch before\n", to: file)
            let log = try #require(LogFile(writtenBy: file.number))
            #expect(texts(log) == [])
            print("one\n\ntwo", to: file)
            #expect(texts(log) == ["one", "", "two"])
            #expect(texts(try #require(LogFile(path: path))) == ["of the launch before", "one", "", "two"])
        }
    }

    @Test("the last whole lines are returned, up to the limits")
    func limits() throws {
        try withFile { _, file in
            let log = try #require(LogFile(writtenBy: file.number))
            for number in 100..<200 { print("line \(number)\n", to: file) }
            #expect(texts(log).count == 50)
            #expect(texts(log).first == "line 150")
            #expect(texts(log) { $0.lines = 1 } == ["line 199"])
            #expect(texts(log) { $0.bytes = 26 } == ["line 198", "line 199"])
            #expect(texts(log) { $0.bytes = 27 } == ["line 198", "line 199"])
            let cut = texts(log) { limit in
                limit.lineBytes = 4
                limit.lines = 2
            }
            #expect(cut == ["line", "line"])
        }
    }

    @Test("the end of one endless line is returned")
    func endlessLine() throws {
        try withFile { _, file in
            let log = try #require(LogFile(writtenBy: file.number))
            for _ in 0..<64 { print(String(repeating: "x", count: 4_096), to: file) }
            #expect(texts(log) == ["…" + String(repeating: "x", count: 1_021)])
            print("é!\n", to: file)
            #expect(texts(log) { $0.lineBytes = 7 } == ["…xé!"])
            #expect(texts(log) { $0.lineBytes = 5 } == ["…!"])
            print("end\n", to: file)
            #expect(texts(log) == ["end"])
        }
    }

    @Test("a renamed file is still read, and a truncated one is read from its new beginning")
    func rotation() throws {
        try withFile { path, file in
            print("before\n", to: file)
            let log = try #require(LogFile(writtenBy: file.number))
            #expect(rename(path, path + ".1") == 0)
            try write("of another file\n", to: path)
            print("one\n", to: file)
            #expect(texts(log) == ["one"])
            #expect(truncate(path + ".1", 0) == 0)
            print("x\n", to: file)
            #expect(texts(log) == ["x"])
        }
    }

    @Test("a link, an overwritten file, and anything but a regular file are not read")
    func refused() throws {
        #expect(LogFile(writtenBy: try OwnedDescriptor.pipe().write.number) == nil)
        #expect(LogFile(writtenBy: try OwnedDescriptor(opening: "/dev/null", flags: O_WRONLY).number) == nil)
        #expect(LogFile(writtenBy: -1) == nil)
        try withFile(0) { path, file in
            #expect(LogFile(writtenBy: file.number) != nil)
            print("some text\n", to: file)
            #expect(LogFile(writtenBy: file.number) != nil)
            lseek(file.number, 0, SEEK_SET)
            #expect(LogFile(writtenBy: file.number) == nil)
            #expect(symlink(path, path + ".link") == 0)
            #expect(LogFile(path: path) != nil)
            #expect(LogFile(path: path + ".link") == nil)
            #expect(mkfifo(path + ".fifo", 0o600) == 0)
            #expect(LogFile(path: path + ".fifo") == nil)
            #expect(LogFile(path: "/dev/zero") == nil)
        }
    }

    @Test("bytes that are not text are tolerated")
    func notText() throws {
        try withFile { _, file in
            let log = try #require(LogFile(writtenBy: file.number))
            let bytes: [UInt8] = [0xff, 0xfe, 0x0a, 0x00, 0x0a]
            Glibc.write(file.number, bytes, bytes.count)
            #expect(texts(log) == ["\u{fffd}\u{fffd}", "\0"])
        }
    }

    @Test("a machine without a journal yields no lines")
    func emptyJournal() throws {
        try withTemporaryDirectory { directory in
            let match = JournalMatch(cgroup: nil, processes: [1], since: .init(nanoseconds: 0))
            #expect(JournalReader.tail(of: match, LogLimit(), directory: directory) == [])
            #expect(JournalReader.tail(of: match, LogLimit(), directory: directory + "/none") == [])
        }
    }
}
