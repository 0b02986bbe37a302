// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogRecording

@Suite("The log of a program's start")
struct StartupLogTests {
    private static let entryEvent: UInt64 = 20
    private static let mainEvent: UInt64 = 21
    private static let boundaries: [UInt64: LaunchBoundary] = [entryEvent: .entry, mainEvent: .main]

    private func instant(_ microseconds: Int64) -> Instant { Instant(nanoseconds: microseconds * 1_000) }

    private func watch(
        _ examined: Int64, set: Int64, _ boundaries: Set<LaunchBoundary> = [.entry, .main]
    )
        -> StartupLog.Watch
    {
        StartupLog.Watch(boundaries: boundaries, examined: instant(examined), set: instant(set))
    }

    /// A dynamic program with one library, as glibc loads it; times in microseconds.
    private func records(until end: Int64) -> [UInt8] {
        var raw = RawRecords()
        let (none, program, library) = (Int64(1_000), "/usr/bin/app", "/lib/libc.so.6")
        let steps: [(Int64, (inout RawRecords, Int64) -> Void)] = [
            (100, { $0.execute($1 * none, "app") }),
            (120, { $0.map($1 * none, program, at: 0x1000, length: 0x1000, protection: 5) }),
            (130, { $0.map($1 * none, program, at: 0x2000, length: 0x1000, protection: 3) }),
            (300, { $0.map($1 * none, library, at: 0x7000, length: 0x1000, protection: 5) }),
            (310, { $0.map($1 * none, library, at: 0x8000, length: 0x1000, protection: 3) }),
            (320, { $0.map($1 * none, "//anon", at: 0x9000, length: 0x1000, protection: 7) }),
            (400, { $0.map($1 * none, library, at: 0x8000, length: 0x800, protection: 1) }),
            (450, { $0.map($1 * none, program, at: 0x2000, length: 0x800, protection: 1) }),
            (500, { $0.change($1 * none, thread: 100, isOut: true) }),
            (700, { $0.change($1 * none, thread: 100, isOut: false) }),
            (800, { $0.hit($1 * none, event: Self.entryEvent) }),
            (850, { $0.change($1 * none, thread: 100, isOut: true, isPreempted: true) }),
            (900, { $0.change($1 * none, thread: 100, isOut: false) }),
            (950, { $0.hit($1 * none, event: Self.mainEvent) }),
            (1_000, { $0.map($1 * none, "/lib/plugin.so", at: 0xa000, length: 0x1000, protection: 5) }),
            (2_000, { $0.exit($1 * none, thread: 100) }),
        ]
        for (time, step) in steps where time <= end { step(&raw, time) }
        return raw.bytes
    }

    private func log(until end: Int64, watch: StartupLog.Watch?) -> StartupLog {
        var log = StartupLog(process: 100)
        if let watch { log.note(watch) }
        log.take(records(until: end), boundaries: Self.boundaries)
        return log
    }

    @Test("has every phase with its end and the thread's states until then")
    func phases() {
        let log = log(until: 3_000, watch: watch(150, set: 200))
        #expect(log.executed == instant(100))
        #expect(log.ended.map(\.phase) == LaunchPhaseName.allCases.filter(\.isActivity))
        #expect(log.ended.map(\.end.time) == [300, 450, 800, 950].map(instant))
        #expect(
            log.ended.map(\.end.account) == [
                ThreadTime(running: .microseconds(200)), ThreadTime(running: .microseconds(350)),
                ThreadTime(running: .microseconds(500), blocked: .microseconds(200)),
                ThreadTime(
                    running: .microseconds(600), waiting: .microseconds(50), blocked: .microseconds(200)),
            ])
        #expect(log.open(at: instant(3_000)) == nil)
        #expect(log.hasReachedMain)
        // The thread's exit stops the account.
        #expect(log.account(at: instant(9_000))?.running == .microseconds(1_650))
    }

    @Test("accepts records in any pieces")
    func pieces() {
        let whole = records(until: 3_000)
        var log = StartupLog(process: 100)
        log.note(watch(150, set: 200))
        var rest = whole[...]
        while !rest.isEmpty {
            let size = Int(rest[rest.startIndex + 6]) | Int(rest[rest.startIndex + 7]) << 8
            log.take(Array(rest.prefix(size)), boundaries: Self.boundaries)
            rest = rest.dropFirst(size)
        }
        #expect(log == self.log(until: 3_000, watch: watch(150, set: 200)))
    }

    @Test(
        "knows the open phase",
        arguments: [
            (110, .mapping), (310, .relocation), (700, .libraryConstructors), (900, .ownConstructors),
        ] as [(Int64, LaunchPhaseName)])
    func open(end: Int64, phase: LaunchPhaseName) {
        #expect(log(until: end, watch: watch(150, set: 200)).open(at: instant(end)) == phase)
    }

    @Test(
        "ignores breakpoints set after the relocation until they are hit",
        arguments: [449, 451] as [Int64])
    func late(set: Int64) {
        let isLate = set > 450
        let before = log(until: 700, watch: watch(150, set: set))
        #expect(before.open(at: instant(700)) == (isLate ? nil : .libraryConstructors))
        let after = log(until: 800, watch: watch(150, set: set))
        #expect(after.ended.map(\.phase).contains(.libraryConstructors))
    }

    @Test("without breakpoints, the log ends with the relocation")
    func unwatched() {
        let log = log(until: 3_000, watch: nil)
        #expect(log.ended.map(\.phase) == [.mapping, .relocation])
        #expect(log.open(at: instant(3_000)) == nil)
    }

    @Test("excludes a library that is loaded later")
    func loadedLater() {
        var raw = RawRecords()
        raw.execute(100_000, "app")
        raw.map(110_000, "/bin/app", at: 0x1000, length: 0x1000, protection: 5)
        raw.map(120_000, "/bin/app", at: 0x2000, length: 0x1000, protection: 3)
        raw.map(130_000, "/bin/app", at: 0x2000, length: 0x800, protection: 1)
        for (time, protection) in [(900_000, 5), (910_000, 3), (920_000, 1)] as [(Int64, UInt32)] {
            raw.map(time, "/lib/plugin.so", at: 0x9000, length: 0x1000, protection: protection)
        }
        var log = StartupLog(process: 100)
        log.take(raw.bytes)
        #expect(log.ended.map(\.end.time) == [instant(110), instant(130)])
    }

    @Test(
        "restarts for another program, and ignores old breakpoints", arguments: [1_099, 1_101] as [Int64])
    func executedAgain(examined: Int64) {
        var raw = RawRecords()
        raw.execute(1_100_000, "other")
        raw.hit(1_200_000, event: Self.entryEvent)
        var log = StartupLog(process: 100)
        log.note(watch(examined, set: examined + 10))
        log.take(records(until: 900), boundaries: Self.boundaries)
        log.take(raw.bytes, boundaries: Self.boundaries)
        #expect(log.executed == instant(1_100))
        #expect(log.ended.map(\.phase) == (examined > 1_100 ? [.libraryConstructors] : []))
        #expect(log.account(at: instant(1_200)) == ThreadTime(running: .microseconds(100)))
    }

    @Test("counts lost records, and tolerates invalid bytes")
    func lost() {
        var raw = RawRecords()
        raw.execute(100_000, "app")
        raw.lose(200_000, 7)
        var log = StartupLog(process: 100)
        log.take(raw.bytes + [9, 9, 9])
        #expect(log.lost == 7)
        #expect(!log.isComplete)
        #expect(log.executed == instant(100))
    }

    @Test(
        "claims no phase that lost records may have changed, until the next execution",
        arguments: [(700, []), (800, [.mapping, .relocation, .libraryConstructors])]
            as [(Int64, [LaunchPhaseName])])
    func lostBefore(end: Int64, known: [LaunchPhaseName]) {
        var log = log(until: end, watch: watch(150, set: 200))
        var raw = RawRecords()
        raw.lose(810_000, 1)
        // A library that is loaded later would pass for the last one before the entry.
        raw.map(820_000, "/lib/plugin.so", at: 0x9000, length: 0x1000, protection: 5)
        raw.hit(830_000, event: Self.entryEvent)
        raw.hit(840_000, event: Self.mainEvent)
        log.take(raw.bytes, boundaries: Self.boundaries)
        log.note(watch(150, set: 200))
        #expect(log.ended.map(\.phase) == known)
        #expect(log.open(at: instant(900)) == nil)
        var next = RawRecords()
        next.execute(900_000, "other")
        log.take(next.bytes)
        log.note(watch(901, set: 902))
        #expect(log.isComplete)
        #expect(log.open(at: instant(950)) == .mapping)
    }

    @Test("has no open phase once the recording was cut")
    func cut() {
        var log = log(until: 700, watch: watch(150, set: 200))
        #expect(log.open(at: instant(900)) != nil)
        log.cut()
        #expect(!log.isComplete)
        #expect(log.open(at: instant(900)) == nil)
    }

    @Test(
        "knows that the kernel has withdrawn the events in an execve, but not that a program has exited",
        arguments: [false, true])
    func withdrawn(isMapped: Bool) {
        var raw = RawRecords()
        raw.execute(1_100_000, "privileged")
        if isMapped { raw.map(1_110_000, "/bin/app", at: 0x1000, length: 0x1000, protection: 5) }
        raw.exit(1_120_000, thread: 100)
        var log = StartupLog(process: 100)
        // The program before has mapped files.
        log.take(records(until: 900) + raw.bytes, boundaries: Self.boundaries)
        #expect(log.isWithdrawn == !isMapped)
    }

    @Test(
        "says nothing of a process that goes on without its first thread, whose end it tells from that of a program",
        arguments: [(1_000_000, true), (1_000_001, false)] as [(Int64, Bool)])
    func firstThreadLeft(later: Int64, isKnown: Bool) {
        var raw = RawRecords()
        raw.exit(700_000, thread: 100)
        var log = log(until: 600, watch: watch(150, set: 200))
        log.take(raw.bytes)
        let end = instant(700 + later)
        #expect((log.account(at: end) != nil) == isKnown)
        #expect((log.open(at: end) == .libraryConstructors) == isKnown)
    }
}
