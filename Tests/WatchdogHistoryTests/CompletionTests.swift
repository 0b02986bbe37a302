// SPDX-License-Identifier: Apache-2.0

import CSQLite
import FoundationEssentials
import Testing
import WatchdogBase

@testable import WatchdogHistory

@Suite("Launch records that are completed later")
struct CompletionTests {
    private static func completion(
        of app: String = "redis", at time: Duration = .zero, host: String = "alpha",
        _ moments: [KeptLaunch.Moment: Duration] = [:], tasks: [KeptLaunch.Task] = []
    ) -> HistoryEntry {
        .completion(
            LaunchCompletion(
                app: app, time: WallTime(microseconds: KeptLaunch.epoch + time.wholeMicroseconds), host: host,
                moments: moments, tasks: tasks))
    }

    private static func extendedLaunches(_ reader: HistoryReader) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(try reader.metrics(of: "redis")), as: UTF8.self)
        guard let start = text.firstRange(of: "\"histogrammedExtendedLaunch\":") else { return "" }
        let rest = text[start.upperBound...]
        return String(rest[..<(rest.firstRange(of: "\"histogrammed")?.lowerBound ?? rest.endIndex)])
    }

    private static func moments(_ reader: HistoryReader, since: WallTime? = nil) throws -> [String: Int] {
        let moments = try reader.launches(of: "redis", since: since, by: .version).moments
        return Dictionary(uniqueKeysWithValues: moments.map { ($0.moment.rawValue, $0.durations.count) })
    }

    @Test("a moment after the record is added to it, and counted from the request")
    func completes() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        try store.add([.launch(.sample(at: .zero)), .launch(.sample("other", at: .zero))])
        #expect(try Self.moments(HistoryReader(path: scratch.file)) == [:])
        // As after a watchdogd that was killed in between.
        let next = try HistoryStore(path: scratch.file)
        try next.add([Self.completion([.firstFrame: .milliseconds(20), .useful: .seconds(5)])])
        let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READONLY, patience: .zero)
        #expect(try connection.integer("SELECT count(*) FROM launch") == 2)
        #expect(try connection.integer("SELECT count(*) FROM launch WHERE useful IS NULL") == 1)
        #expect(try connection.integer("SELECT first_frame FROM launch WHERE useful = 5001000") == 21_000)
        let table = try HistoryReader(path: scratch.file).launches(of: "redis", by: .version)
        #expect(table.total?.count == 1)
        #expect(table.moments.map(\.moment) == [.firstFrame, .useful])
        let useful = try #require(table.moments.last?.durations.quantile(0.5))
        #expect(abs(useful.wholeMicroseconds - 5_001_000) < 5_001_000 / 60)
        #expect(try HistoryReader(path: scratch.file).launches(of: "other", by: .version).moments == [])
    }

    @Test("no known value is replaced or counted twice, in one transaction or in several", arguments: [1, 2])
    func once(transactions: Int) throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        let entries: [HistoryEntry] = [
            .launch(.sample(at: .zero)), Self.completion([.useful: .seconds(1)]),
            Self.completion([.useful: .seconds(9)]),
            Self.completion([.ready: .seconds(9)]),
        ]
        if transactions == 1 { try store.add(entries) } else { for entry in entries { try store.add([entry]) } }
        let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READONLY, patience: .zero)
        #expect(try connection.integer("SELECT useful FROM launch") == 1_001_000)
        #expect(try connection.integer("SELECT ready FROM launch") == 12_000)
        #expect(try Self.moments(HistoryReader(path: scratch.file)) == ["useful": 1])
    }

    @Test("a completion without its launch changes nothing")
    func unknown() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        var untimed = KeptLaunch.sample(at: .seconds(9))
        untimed.moments = [:]
        try store.add([
            .launch(.sample(at: .zero)), .launch(untimed), Self.completion(of: "nobody", [.useful: .seconds(1)]),
            Self.completion(at: .microseconds(1), [.useful: .seconds(1)]),
            Self.completion(host: "beta", [.useful: .seconds(1)]),
            // The time between the request and the execution is unknown.
            Self.completion(at: .seconds(9), [.useful: .seconds(1)]),
        ])
        let reader = try HistoryReader(path: scratch.file)
        #expect(try reader.apps() == ["redis"])
        #expect(try Self.moments(reader) == [:])
    }

    @Test("tasks have a place, before and after the record is completed, and are deleted with their launch")
    func tasks() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file, limits: .init(age: .seconds(100 * 86_400)))
        var launch = KeptLaunch.sample(at: .zero)
        launch.tasks = [.init(name: "rows", begin: .milliseconds(3))]
        try store.add([.launch(launch), .launch(.sample(at: .seconds(86_400)))])
        let connection = try Connection(scratch.file, flags: SQLITE_OPEN_READONLY, patience: .zero)
        let both = "SELECT count(*) FROM launch_task WHERE launch = 1"
        #expect(try connection.integer(both) == 1)
        #expect(try connection.integer("SELECT ended FROM launch_task") == nil)
        try store.add([
            Self.completion(
                [.extended: .seconds(2)],
                tasks: [
                    .init(name: "rows", begin: .milliseconds(2), end: .seconds(2)),
                    .init(name: "plots", begin: .milliseconds(5), end: .seconds(1)),
                ])
        ])
        #expect(try connection.integer(both) == 2)
        #expect(try connection.integer("SELECT ended FROM launch_task WHERE name = 'rows'") == 2_001_000)
        #expect(try connection.integer("SELECT began FROM launch_task WHERE name = 'rows'") == 3_000)
        #expect(try connection.integer("SELECT extended FROM launch WHERE id = 1") == 2_001_000)
        try store.prune(at: WallTime(microseconds: KeptLaunch.epoch + 101 * WallTime.dayLength))
        #expect(try connection.integer("SELECT count(*) FROM launch") == 1)
        #expect(try connection.integer("SELECT count(*) FROM launch_task") == 0)
        #expect(try connection.integer("SELECT count(*) FROM day_moments") == 0)
    }

    @Test(
        "an extended launch lasts until the first frame and the last task, or without tasks until the app is useful",
        arguments: [
            (2_000, 500, nil, "2"), (500, 2_000, nil, "2"), (2_000, 500, 9_000, "2"), (nil, 500, 2_000, "2"),
            (nil, 2_000, nil, ""),
        ] as [(Int?, Int, Int?, String)])
    func metrics(tasks: Int?, firstFrame: Int, useful: Int?, seconds: String) throws {
        let scratch = Scratch()
        var moments: [KeptLaunch.Moment: Duration] = [.firstFrame: .milliseconds(firstFrame)]
        moments[.extended] = tasks.map { .milliseconds($0) }
        moments[.useful] = useful.map { .milliseconds($0) }
        try HistoryStore(path: scratch.file).add([.launch(.sample(at: .zero)), Self.completion(moments)])
        let text = try Self.extendedLaunches(HistoryReader(path: scratch.file))
        #expect(text.isEmpty == seconds.isEmpty)
        guard !seconds.isEmpty else { return }
        #expect(text.contains("\"bucketCount\":1"))
        let bound = try #require(text.firstMatch(of: /"bucketStart":"(\d+)/)?.output.1)
        #expect((1_900...2_001).contains(Int(bound) ?? 0), "\(text)")
    }

    @Test("only moments of launches since the given time count, to the microsecond")
    func since() throws {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        for hour in 0..<50 {
            try store.add([
                .launch(.sample(at: .seconds(hour * 3_600))),
                Self.completion(at: .seconds(hour * 3_600), [.useful: .seconds(1)]),
            ])
        }
        let reader = try HistoryReader(path: scratch.file)
        for hour in [0, 1, 23, 24, 25, 49] {
            for late in [0, 1] {
                let since = WallTime(microseconds: KeptLaunch.epoch + Int64(hour) * 3_600_000_000 + Int64(late))
                #expect(try Self.moments(reader, since: since)["useful", default: 0] == 50 - hour - late)
            }
        }
    }

    @Test("text and JSON show the moments of an app that has any")
    func shown() throws {
        let scratch = Scratch()
        try HistoryStore(path: scratch.file).add([
            .launch(.sample(at: .zero)), .launch(.sample("bare", at: .zero)),
            Self.completion([.firstFrame: .milliseconds(20), .useful: .seconds(5), .extended: .seconds(7)]),
        ])
        let reader = try HistoryReader(path: scratch.file)
        let table = try reader.launches(of: "redis", by: .version)
        let text = LaunchesText().text(table)
        let titles = text.split(separator: "\n").drop { !$0.hasPrefix("from the request to") }.prefix(4)
        #expect(
            titles.dropFirst().map { $0.split(separator: "  ")[0] } == [
                "first frame", "useful", "the end of its launch tasks",
            ])
        #expect(try !LaunchesText().text(reader.launches(of: "bare", by: .version)).contains("from the request to"))
        let json = String(decoding: try JSONEncoder().encode(LaunchesReply(table)), as: UTF8.self)
        for name in ["first-frame", "useful", "extended"] { #expect(json.contains("\"name\":\"\(name)\"")) }
        let all = try LaunchesReply(reader.launches(of: nil, by: .app))
        #expect(!String(decoding: try JSONEncoder().encode(all), as: UTF8.self).contains("moments"))
    }

    @Test("a queued record is completed like a written one")
    func waiting() {
        var launch = KeptLaunch.sample(at: .zero)
        launch.complete(
            with: LaunchCompletion(
                app: "redis", time: launch.time, moments: [.useful: .seconds(1), .ready: .seconds(9)],
                tasks: [.init(name: "rows", begin: .zero, end: .seconds(1))]))
        #expect(launch.moments == [.exec: .milliseconds(1), .ready: .milliseconds(12), .useful: .milliseconds(1_001)])
        #expect(launch.tasks == [.init(name: "rows", begin: .milliseconds(1), end: .milliseconds(1_001))])
    }
}
