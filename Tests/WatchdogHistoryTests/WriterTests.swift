// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogHistory

@Suite("The history's writer thread")
struct WriterTests {
    /// The thread's notices.
    private final class Told: Sendable {
        private let news = Mutex<[HistoryWriter.News]>([])

        var all: [HistoryWriter.News] { news.withLock { $0 } }

        func tell(_ item: HistoryWriter.News) { news.withLock { $0.append(item) } }

        var problems: [String] {
            all.compactMap { if case .problem(let text) = $0 { text } else { nil } }
        }
    }

    /// The epoch of the tests is a fixed day, which may be long ago.
    private static let unlimited = HistoryStore.Limits(age: .seconds(100 * 365 * 86_400))

    @Test("Recorded entries are written once the thread has exited")
    func writes() throws {
        let scratch = Scratch()
        let told = Told()
        let writer = try HistoryWriter(path: scratch.file, limits: Self.unlimited, host: "alpha") { told.tell($0) }
        for second in 0..<3_000 { writer.record(.launch(.sample(at: .seconds(second)))) }
        writer.flush(within: patience)
        #expect(try HistoryReader(path: scratch.file).launches(of: nil, by: .app).total?.count == 3_000)
        writer.record(.launch(.sample(at: .zero)))
        #expect(writer.shutDown(within: patience))
        #expect(try HistoryReader(path: scratch.file).launches(of: nil, by: .app).total?.count == 3_001)
        #expect(!writer.record(.launch(.sample(at: .zero))))
        #expect(told.all == [])
    }

    @Test("A store that cannot be opened is reported once")
    func unusable() throws {
        let told = Told()
        let writer = try HistoryWriter(path: "/proc/nowhere/history.db", host: "alpha") { told.tell($0) }
        for _ in 0..<10 {
            writer.record(.launch(.sample(at: .zero)))
            writer.flush(within: patience)
        }
        #expect(writer.shutDown(within: patience))
        #expect(told.problems.count == 1)
        #expect(told.problems.first?.hasPrefix("launches are not recorded: cannot create /proc/nowhere: ") == true)
    }

    @Test("Entries that do not fit in the queue are counted and reported, and the caller does not wait")
    func queue() throws {
        let scratch = Scratch()
        let told = Told()
        do {
            let file = try OwnedDescriptor(opening: scratch.file, flags: O_RDWR | O_CREAT)
            let noise = [UInt8](repeating: 0x5A, count: 64 << 10)
            #expect(write(file.number, noise, noise.count) == noise.count)
        }
        // The thread blocks while it reports the damaged store, which happens before it takes the first entry.
        let gate = DispatchSemaphore(value: 0)
        let writer = try HistoryWriter(
            path: scratch.file, limits: Self.unlimited, host: "alpha", capacity: 10
        ) { news in
            if told.all.isEmpty { _ = gate.wait(timeout: .now() + patience / .seconds(1)) }
            told.tell(news)
        }
        for second in 0..<100 { #expect(writer.record(.launch(.sample(at: .seconds(second)))) == (second < 10)) }
        gate.signal()
        #expect(writer.shutDown(within: patience))
        #expect(try HistoryReader(path: scratch.file).launches(of: nil, by: .app).total?.count == 10)
        #expect(told.problems.count == 2)
        #expect(told.problems.first?.contains(".damaged-1") == true)
        #expect(told.problems.last?.hasSuffix(": 90") == true)
    }

    @Test("The launch that completes the eighth moment of a slower version is reported, and the one before is not")
    func regression() throws {
        for (moments, factor, isTold) in [(8, 1.101, true), (7, 1.101, false), (8, 1.099, false)] {
            let scratch = Scratch()
            let store = try HistoryStore(path: scratch.file)
            func launch(_ day: Int, _ build: String, _ factor: Double) -> HistoryEntry {
                .launch(
                    .sample(
                        at: .seconds(day * 86_400), build: build, cpu: .microseconds(Int64(1e6 * factor) + Int64(day))))
            }
            try store.add((0..<8).map { launch($0, "aa", 1) } + (10..<10 + moments).map { launch($0, "bb", factor) })
            let told = Told()
            let writer = try HistoryWriter(path: scratch.file, limits: Self.unlimited, host: "alpha") { told.tell($0) }
            // It begins the next moment.
            writer.record(launch(30, "bb", 1))
            writer.flush(within: patience)
            #expect(writer.shutDown(within: patience))
            let regressions = told.all.compactMap { if case .regression(let found) = $0 { found } else { nil } }
            #expect(regressions.map(\.version.buildID) == (isTold ? ["bb"] : []), "\(moments), \(factor)")
            #expect(told.problems == [])
        }
    }

    @Test("A full disk costs entries, is reported, and leaves a readable history", .enabled(if: geteuid() == 0))
    func full() throws {
        let scratch = Scratch()
        let folder = scratch.path + "/disk"
        #expect(mkdir(folder, 0o755) == 0)
        defer { rmdir(folder) }
        // A container may forbid it.
        guard mount("tmpfs", folder, "tmpfs", 0, "size=256k") == 0 else { return }
        defer { umount2(folder, 2) }
        let told = Told()
        let writer = try HistoryWriter(path: folder + "/history.db", host: "alpha") { told.tell($0) }
        for batch in 0..<40 {
            for second in 0..<500 { writer.record(.launch(.sample(at: .seconds(batch * 500 + second)))) }
            writer.flush(within: patience)
        }
        #expect(writer.shutDown(within: patience))
        #expect(told.problems.contains { $0.contains("launches are not recorded") && $0.contains("full") })
        let total = try HistoryReader(path: folder + "/history.db").launches(of: nil, by: .app).total
        #expect(total?.count ?? 0 < 20_000)
    }
}
