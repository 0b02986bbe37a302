// SPDX-License-Identifier: Apache-2.0

import CSQLite
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogHistory

@Suite("Phases of launches in the history")
struct PhaseTests {
    private static let phases: [LaunchPhaseName: Duration] = [
        .exec: .microseconds(2_800), .mapping: .milliseconds(1), .ownConstructors: .zero, .ready: .seconds(3),
    ]

    private static func add(_ bytes: UnsafeRawBufferPointer, to buckets: inout [LaunchPhaseName: DurationBuckets]) {
        PhaseBytes.read(bytes) { buckets[$0, default: DurationBuckets()].add(bytes: $1) }
    }

    // MARK: - Bytes

    @Test("A launch's phases survive encoding, in few bytes")
    func launchBytes() throws {
        let bytes = try #require(PhaseBytes.bytes(Self.phases))
        #expect(bytes.count == 11)
        #expect(bytes.withUnsafeBytes(PhaseBytes.durations) == Self.phases)
        #expect(PhaseBytes.bytes([:] as [LaunchPhaseName: Duration]) == nil)
        let extreme = try #require(PhaseBytes.bytes([.exec: .seconds(-1), .ready: .seconds(1 << 40)]))
        #expect(
            extreme.withUnsafeBytes(PhaseBytes.durations) == [.exec: .zero, .ready: .microseconds(1 << 47)])
    }

    @Test("Phases of a later watchdogd are skipped, and those before and after them are read")
    func laterPhases() {
        // Bits 0, 7 and 20; the numbers 5, 6 and 9.
        let launch: [UInt8] = [0x81, 0x81, 0x40, 5, 6, 9]
        #expect(
            launch.withUnsafeBytes(PhaseBytes.durations) == [.exec: .microseconds(5), .ready: .microseconds(6)])
        var buckets: [LaunchPhaseName: DurationBuckets] = [:]
        // Phase 20 with two bytes, then phase 7: bucket 4 twice.
        ([20, 2, 1, 1, 7, 2, 4, 2] as [UInt8]).withUnsafeBytes { Self.add($0, to: &buckets) }
        #expect(buckets.mapValues(\.count) == [.ready: 2])
    }

    @Test("Damaged bytes are harmless")
    func noise() {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<3_000 {
            let noise = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(noise.withUnsafeBytes(PhaseBytes.durations).values.allSatisfy { $0 >= .zero })
            var buckets: [LaunchPhaseName: DurationBuckets] = [:]
            noise.withUnsafeBytes { Self.add($0, to: &buckets) }
            #expect(buckets.values.allSatisfy { $0.count >= 0 })
        }
    }

    // MARK: - The store

    @Test("The phases of an app's launches are counted, even those that never became ready, and of no other app")
    func store() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        try store.add([
            .launch(.sample(at: .seconds(60), phases: Self.phases)),
            .launch(.sample(at: .seconds(61), phases: [.exec: .milliseconds(9), .ready: .seconds(5)])),
        ])
        try store.add([
            .launch(.sample(at: .seconds(90_000), ready: nil, phases: [.exec: .milliseconds(1)])),
            .launch(.sample("other", at: .seconds(5), phases: [.hello: .seconds(1)])),
            .launch(.sample("bare", at: .seconds(5))),
        ])
        let reader = try HistoryReader(path: scratch.file)
        let phases = try reader.launches(of: "redis", by: .version).phases
        #expect(phases.map(\.phase) == [.exec, .mapping, .ownConstructors, .ready])
        #expect(phases.map(\.durations.count) == [3, 1, 1, 2])
        let median = try #require(phases.first?.durations.quantile(0.5))
        #expect(abs(median.wholeMicroseconds - 2_800) <= 2_800 / 60)
        #expect(try reader.launches(of: "bare", by: .version).phases == [])
        #expect(try reader.launches(of: nil, by: .app).phases == [])
    }

    @Test("The medians of the three latest versions stand side by side, oldest first")
    func versions() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        let launches = (0..<40).map { number in
            KeptLaunch.sample(
                at: .seconds(number * 60), build: "build\(number / 10)aa",
                phases: [.exec: .milliseconds(1), .ownConstructors: .milliseconds(number < 30 ? 2 : 50)])
        }
        try store.add(launches.map { .launch($0) })
        let reader = try HistoryReader(path: scratch.file)
        let table = try reader.launches(of: "redis", by: .version)
        #expect(table.versionPhases.map { $0.label.prefix(6) } == ["build1", "build2", "build3"])
        #expect(table.versionPhases.allSatisfy { $0.phases.map(\.durations.count) == [10, 10] })
        let text = LaunchesText().text(table).split(separator: "\n").map(String.init)
        // The middle of a bucket.
        let row = try #require(text.last { $0.hasPrefix("own constructors") })
        #expect(row.split(separator: " ").suffix(6) == ["2.00", "ms", "2.00", "ms", "49.7", "ms"], "\(row)")
        #expect(try reader.launches(of: "redis", by: .kind).versionPhases == [])
        let one = try reader.launches(
            of: "redis", since: WallTime(microseconds: launches[30].time.microseconds), by: .version)
        #expect(one.versionPhases.count == 1)
        #expect(!LaunchesText().text(one).contains("p50 by version"))
    }

    @Test("JSON has each phase of a single app, but none for all apps")
    func reply() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        try store.add([
            .launch(.sample(at: .zero, phases: [.exec: .microseconds(5), .libraryConstructors: .microseconds(7)])),
            .launch(.sample("bare", at: .zero)),
        ])
        let reader = try HistoryReader(path: scratch.file)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        func reply(of app: String?) throws -> String {
            let table = try reader.launches(of: app, by: app == nil ? .app : .version)
            return String(decoding: try encoder.encode(LaunchesReply(table)), as: UTF8.self)
        }
        let exec = #"{"count":1,"name":"exec","p50USec":5,"p90USec":5}"#
        let constructors = #"{"count":1,"name":"library-constructors","p50USec":7,"p90USec":7}"#
        let redis = try reply(of: "redis")
        #expect(redis.contains(",\"phases\":[\(exec),\(constructors)],\"versionPhases\":[{"))
        #expect(redis.hasSuffix(",\"phases\":[\(exec),\(constructors)]}]}"))
        #expect(try reply(of: "bare").hasSuffix(",\"phases\":[]}"))
        #expect(try !reply(of: nil).contains("phases"))
    }

    @Test("Only phases of launches since the given time count, to the microsecond")
    func since() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        let launches = (0..<50).map {
            KeptLaunch.sample(at: .seconds($0 * 3_600), phases: [.exec: .milliseconds(1)])
        }
        try store.add(launches.map { .launch($0) })
        let reader = try HistoryReader(path: scratch.file)
        for hour in [0, 1, 23, 24, 25, 49] {
            for late in [0, 1] {
                let since = WallTime(microseconds: launches[hour].time.microseconds + Int64(late))
                let phases = try reader.launches(of: "redis", since: since, by: .version).phases
                #expect(phases.first?.durations.count ?? 0 == 50 - hour - late)
            }
        }
    }

    @Test("Days are removed with their last launch, not before")
    func age() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file, limits: .init(age: .seconds(100 * 86_400)))
        try store.add([.launch(.sample(at: .seconds(86_399), phases: Self.phases))])
        let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE, patience: .zero)
        for (microseconds, days) in [(-1, 1), (0, 0)] as [(Int64, Int64)] {
            let now = KeptLaunch.epoch + 101 * WallTime.dayLength + microseconds
            try store.prune(at: WallTime(microseconds: now))
            #expect(try connection.integer("SELECT count(*) FROM day_phases") == days)
        }
    }

    @Test("A failed transaction leaves nothing to be counted later")
    func failedTransaction() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        let other = try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE, patience: .zero)
        try other.execute("ALTER TABLE day_phases RENAME TO gone")
        #expect(throws: HistoryError.self) {
            try store.add([.launch(.sample(at: .zero, phases: Self.phases))])
        }
        try other.execute("ALTER TABLE gone RENAME TO day_phases")
        try store.add([.launch(.sample(at: .zero, phases: Self.phases))])
        let table = try HistoryReader(path: scratch.file).launches(of: "redis", by: .version)
        #expect(table.total?.count == 1)
        #expect(table.phases.map(\.durations.count) == [1, 1, 1, 1])
    }

    // MARK: - Upgrades

    /// A store in the first format, as watchdogd wrote it at that time.
    private func formerStore(in scratch: Scratch) throws {
        let path = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Fixtures/history-1.sql"
        let fixture = try OwnedDescriptor(opening: path, flags: O_RDONLY)
        let statements = String(decoding: try fixture.contents(limit: 1 << 20), as: UTF8.self)
        try Connection(scratch.file, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, patience: .zero)
            .execute(statements)
    }

    @Test("A store in the first format is readable, and is upgraded in place")
    func upgrade() throws {
        let scratch = Scratch()
        try formerStore(in: scratch)
        let former = try HistoryReader(path: scratch.file)
        let before = try former.launches(of: "app", by: .version)
        #expect(before.total?.count == 3)
        #expect(before.total?.failures == 1)
        #expect(before.phases == [])

        let opened = try HistoryStore.open(scratch.file)
        #expect(opened.warning == nil)
        // An existing reader does not have to be reopened.
        #expect(try former.launches(of: "app", by: .version) == before)
        var launch = KeptLaunch.sample("app", at: .zero, phases: Self.phases)
        launch.time = try #require(before.total).last
        try opened.store.add([.launch(launch)])
        let after = try HistoryReader(path: scratch.file).launches(of: "app", by: .version)
        #expect(after.total?.count == 4)
        #expect(after.phases.map(\.durations.count) == [1, 1, 1, 1])
        let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READONLY, patience: .zero)
        #expect(try connection.integer("PRAGMA user_version") == HistorySchema.version)
        #expect(try connection.integer("SELECT count(*) FROM launch WHERE phases IS NULL") == 4)
    }

    @Test("A damaged store in the first format is set aside")
    func damagedUpgrade() throws {
        let scratch = Scratch()
        try formerStore(in: scratch)
        let file = try OwnedDescriptor(opening: scratch.file, flags: O_RDWR)
        let noise = [UInt8](repeating: 0x5A, count: 30_000)
        #expect(pwrite(file.number, noise, noise.count, 200) == noise.count)
        let (store, warning) = try HistoryStore.open(scratch.file)
        #expect(warning?.contains("\(scratch.file).damaged-1") == true)
        try store.add([.launch(.sample(at: .zero, phases: Self.phases))])
        #expect(try HistoryReader(path: scratch.file).launches(of: "redis", by: .version).phases.count == 4)
    }
}
