// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux

@Suite("Sending to journald", .reapsChildren)
struct JournalTests {
    private func entry(_ text: String) -> JournalEntry {
        JournalEntry(text, priority: .info, identifier: "test")
    }

    private func thread(_ address: JournalAddress, capacity: Int = 256) throws -> JournalThread {
        try JournalThread(address, capacity: capacity) { count in
            JournalEntry("lost: \(count)", priority: .warning, identifier: "test")
        }
    }

    // MARK: - Streams

    @Test("a program prints to its stream, and can continue as its only holder")
    func streams() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            var stream: OwnedDescriptor? = try JournalStream.open(identifier: "app", address: journal.address)
            var request = shell("echo one; echo two >&2")
            let number = stream?.number ?? -1
            request.descriptors = [.init(0, as: 0), .init(number, as: 1), .init(number, as: 2)]
            let spawned = try spawn(request)
            stream = nil
            let reading = try #require(try journal.stream())
            #expect(readToEnd(reading) == "app\n\n6\n1\n0\n0\n0\none\ntwo\n")
            #expect(try waitForExit(spawned.process)?.status == .exited(code: 0))
        }
    }

    @Test("a stream blocks like standard output, closes on exec, and matches JOURNAL_STREAM")
    func streamFlags() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            let stream = try JournalStream.open(identifier: "app", address: journal.address)
            #expect(fcntl(stream.number, F_GETFL) & O_NONBLOCK == 0)
            #expect(fcntl(stream.number, F_GETFD) & FD_CLOEXEC != 0)
            let identity = try #require(JournalStream.identity(of: stream.number))
            #expect(JournalStream.isConnected(stream.number, environment: ["JOURNAL_STREAM": identity]))
            #expect(!JournalStream.isConnected(stream.number, environment: ["JOURNAL_STREAM": "1:2"]))
            #expect(!JournalStream.isConnected(stream.number, environment: [:]))
            #expect(JournalStream.identity(of: try OwnedDescriptor.pipe().write.number) == nil)
        }
    }

    @Test("a full queue of connections is reported immediately")
    func fullBacklog() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory, backlog: 1)
            var streams: [OwnedDescriptor] = []
            let error = #expect(throws: LinuxError.self) {
                for _ in 0..<16 { streams.append(try JournalStream.open(identifier: "app", address: journal.address)) }
            }
            #expect(error?.errno == .wouldBlock)
            #expect(
                error?.description
                    == "cannot connect to the journal at \(directory)/stdout: Resource temporarily unavailable (EAGAIN)"
            )
            // Accepting one connection makes room for another.
            _ = try #require(try journal.stream())
            #expect(throws: Never.self) { try JournalStream.open(identifier: "app", address: journal.address) }
        }
    }

    @Test("a missing or exited journald is reported immediately")
    func absent() throws {
        try withTemporaryDirectory { directory in
            let address = JournalAddress(directory: directory)
            #expect(!address.isPresent)
            let missing = #expect(throws: LinuxError.self) { try JournalStream.open(identifier: "a", address: address) }
            #expect(missing?.errno == .noSuchFile)
            do { _ = try FakeJournal(in: directory) }
            #expect(address.isPresent)
            let refused = #expect(throws: LinuxError.self) { try JournalStream.open(identifier: "a", address: address) }
            #expect(refused?.errno.rawValue == ECONNREFUSED)
        }
    }

    @Test("a path that is too long for a socket is reported")
    func longPath() {
        let address = JournalAddress(directory: "/" + String(repeating: "x", count: 120))
        let error = #expect(throws: LinuxError.self) { try JournalStream.open(identifier: "a", address: address) }
        #expect(error?.errno == .nameTooLong)
    }

    // MARK: - Entries

    @Test("entries arrive in order")
    func order() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            let thread = try thread(journal.address)
            for number in 0..<5 { #expect(thread.post(entry("\(number)"))) }
            for number in 0..<5 {
                #expect(journal.entry() == "MESSAGE=\(number)\nPRIORITY=6\nSYSLOG_IDENTIFIER=test\n")
            }
            thread.shutDown(within: patience)
            #expect(thread.droppedCount == 0)
        }
    }

    @Test("a journald that does not read loses entries without delay, and one entry reports their number")
    func stoppedReader() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            var socket = JournalSocket(journal.address)
            var filling = 0
            while case .sent = socket.send([UInt8(ascii: "\n")]) { filling += 1 }
            let thread = try thread(journal.address, capacity: 4)
            var posted = 0
            while thread.droppedCount < 100 {
                thread.post(entry("\(posted)"))
                posted += 1
            }
            for _ in 0..<filling { #expect(journal.entry() == "\n") }
            var received: [String] = []
            while !(received.last?.contains("lost: ") ?? false), let text = journal.entry() { received.append(text) }
            #expect(received.last?.hasPrefix("MESSAGE=lost: 100\nPRIORITY=4\n") == true)
            thread.post(entry("again"))
            thread.shutDown(within: patience)
            while let text = journal.waitingEntry() { received.append(text) }
            #expect(received.last?.hasPrefix("MESSAGE=again\n") == true)
            // The entries that were not lost are in order.
            let numbers = received.compactMap { Int($0.prefix { $0 != "\n" }.dropFirst("MESSAGE=".count)) }
            #expect(numbers.count == posted - 100 && numbers == numbers.sorted())
            #expect(received.count == numbers.count + 2)
            #expect(thread.droppedCount == 100)
        }
    }

    private func entry(_ text: String, attaching count: Int) -> JournalEntry {
        var entry = entry(text)
        entry.attach("DATA", [UInt8](repeating: UInt8(ascii: "x"), count: count), orSayWhyNotIn: "OMITTED")
        return entry
    }

    @Test("queued bytes are limited: an attachment that exceeds the limit is omitted, and the entry states that")
    func limitedBytes() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            var socket = JournalSocket(journal.address)
            var filling = 0
            while case .sent = socket.send([UInt8(ascii: "\n")]) { filling += 1 }
            let limit = 2 * entry("a", attaching: 1_000).size
            let thread = try JournalThread(journal.address, capacity: 100, byteCapacity: limit) { _ in entry("lost") }
            // The thread holds this entry while it waits, so it no longer counts.
            thread.post(entry("held"))
            #expect(eventually { thread.waitingBytes == 0 })
            for name in ["a", "b"] { #expect(thread.post(entry(name, attaching: 1_000))) }
            #expect(thread.waitingBytes == limit)
            #expect(!thread.post(entry("c", attaching: 1_000)))
            #expect(thread.droppedCount == 1)
            for _ in 0..<filling { #expect(journal.entry() == "\n") }
            #expect(journal.entry()?.hasPrefix("MESSAGE=held") == true)
            for name in ["a", "b"] {
                var text = journal.entry() ?? ""
                while text.hasPrefix("MESSAGE=lost") { text = journal.entry() ?? "" }
                #expect(text.hasPrefix("MESSAGE=\(name)\n") && text.contains("\nDATA=xxx"))
            }
            let tight = try JournalThread(journal.address, capacity: 100, byteCapacity: 999) { _ in entry("lost") }
            #expect(tight.post(entry("d", attaching: 1_000)))
            var text = journal.entry() ?? ""
            while text.hasPrefix("MESSAGE=lost") { text = journal.entry() ?? "" }
            #expect(text.hasPrefix("MESSAGE=d\n") && !text.contains("DATA="))
            #expect(text.hasSuffix("OMITTED=too many messages waited for the journal\n"))
            thread.shutDown(within: patience)
            tight.shutDown(within: patience)
        }
    }

    @Test("an entry that is too large for a datagram is sent in a sealed file")
    func largeEntry() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            // More than any socket's buffer: socket(7) doubles the configured size.
            let most = try #require(Procfs.text("/proc/sys/net/core/wmem_max").flatMap { Int($0.dropLast()) })
            let entry = entry("large", attaching: 2 * most + (1 << 20))
            let capacity = 2 * entry.bytes.count
            let thread = try JournalThread(journal.address, byteCapacity: capacity) { _ in self.entry("lost") }
            #expect(thread.post(entry))
            let file = try #require(journal.file())
            #expect(fcntl(file.number, 1_034 /* F_GET_SEALS */) == 0xe)
            var status = stat()
            #expect(fstat(file.number, &status) == 0)
            #expect(status.st_size == entry.bytes.count)
            thread.shutDown(within: patience)
            #expect(thread.droppedCount == 0)
        }
    }

    @Test("a thread that cannot send exits in time")
    func shutDownWhileFull() throws {
        try withTemporaryDirectory { directory in
            let journal = try FakeJournal(in: directory)
            var socket = JournalSocket(journal.address)
            while case .sent = socket.send([UInt8(ascii: "\n")]) {}
            let thread = try thread(journal.address, capacity: 4)
            #expect(thread.post(entry("waits forever")))
            let start = Instant.now()
            thread.shutDown(within: .milliseconds(50))
            #expect(Instant.now() - start >= .milliseconds(50))
            #expect(Instant.now() - start < patience)
            #expect(!thread.post(entry("late")))
            // The thread may not have had a CPU yet.
            #expect(eventually { thread.droppedCount == 2 })
            withExtendedLifetime(journal) {}
        }
    }

    @Test("without journald, entries are lost; one that starts later gets the next entry and the number lost")
    func absentThenPresent() throws {
        try withTemporaryDirectory { directory in
            let thread = try thread(JournalAddress(directory: directory))
            #expect(thread.post(entry("lost")))
            #expect(eventually { thread.droppedCount == 1 })
            let journal = try FakeJournal(in: directory)
            #expect(thread.post(entry("found")))
            #expect(journal.entry()?.hasPrefix("MESSAGE=found\n") == true)
            #expect(journal.entry()?.hasPrefix("MESSAGE=lost: 1\n") == true)
            thread.shutDown(within: patience)
        }
    }

    @Test("a journald that restarts under the same name is found again")
    func restarted() throws {
        try withTemporaryDirectory { directory in
            var journal: FakeJournal? = try FakeJournal(in: directory)
            let address = JournalAddress(directory: directory)
            let thread = try thread(address)
            thread.post(entry("one"))
            #expect(journal?.entry()?.hasPrefix("MESSAGE=one\n") == true)
            journal = nil
            unlink(address.entries)
            unlink(address.streams)
            journal = try FakeJournal(in: directory)
            thread.post(entry("two"))
            #expect(journal?.entry()?.hasPrefix("MESSAGE=two\n") == true)
            thread.shutDown(within: patience)
            #expect(thread.droppedCount == 0)
        }
    }
}
