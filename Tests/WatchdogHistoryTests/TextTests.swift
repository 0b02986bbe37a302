// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogHistory

@Suite("Launch tables as text")
struct TextTests {
    private static let folder = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Goldens"

    /// Three versions over a month, the last one slower, with some launches that never became ready.
    private static func table(_ key: LaunchGroup.Key) throws -> (table: LaunchSummaryTable, metrics: [MetricKitMetrics])
    {
        let scratch = Scratch()
        let store = try HistoryStore(path: scratch.file)
        var random = SeededGenerator(seed: 9)
        var entries: [HistoryEntry] = []
        for index in 0..<600 {
            let build = ["3f2a91c0aa", "77d0c3e1bb", "b1946ac9cc"][index / 200]
            let ready = 12_000 * (index < 400 ? 1 : 1.4) * exp(random.normal() / 3)
            entries.append(
                .launch(
                    .sample(
                        at: .seconds(index * 4_000), ready: index % 97 == 5 ? nil : .microseconds(Int64(ready)),
                        build: build, cause: index % 50 == 0 ? "crash" : "start",
                        temperature: index % 20 == 0 ? .cold : .warm, phases: phases(ready, of: index))))
        }
        let time = WallTime(microseconds: KeptLaunch.epoch + 5_000_000)
        entries.append(
            .hang(KeptHang(app: "redis", time: time, duration: .seconds(3), event: "scene-update", isFatal: false)))
        // No hang of its own: one was reported before its end.
        entries.append(
            .hang(KeptHang(app: "redis", time: time, duration: .seconds(1), event: KeptHang.reported, isFatal: false)))
        for (reason, isForeground) in [(KeptTermination.Reason.watchdog, true), (.normal, true), (.lockedFile, false)] {
            entries.append(
                .termination(KeptTermination(app: "redis", time: time, reason: reason, isForeground: isForeground)))
        }
        try store.add(entries)
        let reader = try HistoryReader(path: scratch.file)
        return (try reader.launches(of: "redis", by: key), try reader.metrics(of: "redis"))
    }

    /// Half of the launches have recorded constructors, and a few never became ready.
    private static func phases(_ ready: Double, of index: Int) -> [LaunchPhaseName: Duration] {
        let part = { (share: Double) in Duration.microseconds(Int64(ready * share)) }
        var phases: [LaunchPhaseName: Duration] = [.exec: part(0.1), .mapping: part(0.2), .relocation: part(0.05)]
        if index % 2 == 0 { (phases[.libraryConstructors], phases[.ownConstructors]) = (.microseconds(7), part(0.3)) }
        if index % 97 != 5 { phases[.ready] = part(0.3) }
        return phases
    }

    /// `WATCHDOGD_UPDATE_GOLDENS=1` rewrites them.
    private func check(_ text: String, golden name: String) throws {
        let path = "\(Self.folder)/\(name)"
        if getenv("WATCHDOGD_UPDATE_GOLDENS") != nil {
            let file = try OwnedDescriptor(opening: path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
            #expect(write(file.number, text, text.utf8.count) == text.utf8.count)
        }
        let file = try OwnedDescriptor(opening: path, flags: O_RDONLY)
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
            count = max(0, read(file.number, buffer.baseAddress, buffer.count))
        }
        #expect(text == String(decoding: bytes, as: UTF8.self))
    }

    @Test("The table and the histogram fit 80 and 200 columns, and work without Unicode", arguments: [79, 199])
    func launches(columns: Int) throws {
        let table = try Self.table(.version).table
        let text = LaunchesText(columns: columns).text(table)
        try check(text, golden: "launches-\(columns + 1).txt")
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= columns })
        let plain = LaunchesText(columns: columns, isUnicode: false).text(table)
        #expect(plain.utf8.allSatisfy { $0 < 0x80 })
        #expect(plain.split(separator: "\n").allSatisfy { $0.count <= columns })
    }

    @Test("Without a terminal, nothing is cut, dates are shown, and bars are as long as on a usual terminal")
    func noTerminal() throws {
        let lines = LaunchesText(columns: nil).text(try Self.table(.version).table).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("3f2a91c0 (redis-server 5:7.0.15-1)  ") && $0.hasSuffix("  2026-11-10") })
        #expect(lines.filter { $0.contains("│") }.allSatisfy { $0.count <= 79 })
        #expect(lines.contains { $0.hasPrefix("15.0 ms to 20.0 ms │") && $0.count > 70 })
        let name = String(repeating: "node", count: 45)
        let group = LaunchGroup(
            label: name, count: 1, durations: DurationBuckets(), first: WallTime(seconds: 0),
            last: WallTime(seconds: 0))
        let table = LaunchSummaryTable(app: "web", key: .host, groups: [group])
        #expect(LaunchesText(columns: nil).text(table).contains("\n\(name)  "))
        #expect(!LaunchesText(columns: 199).text(table).contains(name))
    }

    @Test("Days use the reader's zone, which the first line names")
    func zone() {
        var durations = DurationBuckets()
        durations.add(.seconds(1))
        let group = LaunchGroup(
            label: "a", count: 1, durations: durations, first: WallTime(seconds: 86_400 - 1),
            last: WallTime(seconds: 2 * 86_400 - 3_601))
        let table = LaunchSummaryTable(app: "web", key: .host, groups: [group])
        let text = LaunchesText(columns: 120) { _ in LocalZone(utcOffset: 3_600, abbreviation: "CET") }.text(table)
        #expect(text.hasPrefix("web: 1 launch, 1970-01-02 (CET)\n"))
        #expect(text.contains("  1970-01-02  1970-01-02\n"))
        #expect(LaunchesText().text(table).hasPrefix("web: 1 launch, 1970-01-01 to 1970-01-02 (UTC)\n"))
    }

    @Test("Tables by kind and by cause are unchanged")
    func others() throws {
        try check(
            try LaunchesText().text(Self.table(.kind).table) + LaunchesText().text(Self.table(.cause).table),
            golden: "launches-kinds.txt")
    }

    @Test("Names cannot control the terminal")
    func hostileNames() {
        let group = LaunchGroup(
            label: "\u{1B}[2J\nred", count: 1, durations: DurationBuckets(), first: WallTime(seconds: 0),
            last: WallTime(seconds: 0))
        let text = LaunchesText().text(LaunchSummaryTable(app: "a\u{1B}]0;x\u{7}", key: .host, groups: [group]))
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
        #expect(LaunchesText().text(LaunchSummaryTable(app: "a", key: .host, groups: [])) == "no launches of a\n")
    }

    @Test("A duration has three digits and a unit")
    func durations() {
        let shown = [0, 999, 1_000, 12_345, 99_950, 999_499, 999_500, 1_500_000, 59_960_000, 1_000_000_000]
            .map { Duration.microseconds($0).figure() }
        #expect(
            shown == [
                "0 µs", "999 µs", "1.00 ms", "12.3 ms", "100 ms", "999 ms", "1.00 s", "1.50 s", "60.0 s", "16 min 40 s",
            ])
    }

    @Test("Each day has one object of MetricKit's metrics")
    func metrics() throws {
        let metrics = try Self.table(.version).metrics
        #expect(metrics.count == 28)
        let first = try #require(metrics.first)
        let text = "\(first)"
        #expect(text.contains("cumulativeSuspendedWithLockedFileExitCount: 1"))
        #expect(text.contains("timeStampBegin: \"2026-11-01 00:00:00 +0000\""))
    }
}
