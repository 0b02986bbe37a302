// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogRecording

@Suite("Sampled stacks")
struct SampledStacksTests {
    private static let libc = "/lib/libc.so.6"

    /// Two phases.
    private static let phases = [
        LaunchPhase(kind: .ownConstructors, begin: .zero, end: .nanoseconds(2_500)),
        LaunchPhase(kind: .main, begin: .nanoseconds(2_500), end: .milliseconds(1)),
    ]

    private func stacks(_ fill: (inout RawRecords) -> Void) -> SampledStacks? {
        var records = RawRecords()
        records.execute(1_000, "app")
        fill(&records)
        var log = LaunchLog(requested: Instant(nanoseconds: 0), process: 100, rung: .b)
        log.samplingInterval = .milliseconds(1)
        log.records = records.bytes
        log.streams = [RawRecords.taskEvent: .task, RawRecords.clockEvent: .clock]
        log.stopped = Instant(nanoseconds: 1_000_000)
        return SampleDecoder.stacks(of: log, RecordTimeline(log), in: Self.phases)
    }

    /// An app of one segment, and libc, whose code is its second.
    private func map(_ records: inout RawRecords) {
        records.map(1_010, "/bin/app", at: 0x40_0000, length: 0x1000, protection: 5, inode: 3)
        records.map(1_020, Self.libc, at: 0x20_0000, length: 0x8000, protection: 1, inode: 4)
        records.map(1_030, Self.libc, at: 0x20_1000, length: 0x4000, protection: 5, offset: 0x800, inode: 4)
    }

    @Test("have offsets from the mapping of a file's beginning, and count equal stacks")
    func offsets() throws {
        let stacks = try #require(
            stacks { records in
                map(&records)
                for time in [2_000, 3_000] { records.sample(Int64(time), stack: [0x20_1010, 0x40_0010]) }
                records.sample(4_000, stack: [0x40_0010])
            })
        #expect(stacks.images == [.init(path: "/bin/app", inode: 3), .init(path: Self.libc, inode: 4)])
        #expect(
            stacks.places == [
                .init(image: 0, offset: 0x10, isInnermost: false), .init(image: 1, offset: 0x1010, isInnermost: true),
                .init(image: 0, offset: 0x10, isInnermost: true),
            ])
        #expect(stacks.counts.map(\.stack) == [[0, 1], [0, 1], [2]])
        #expect(stacks.counts.map(\.count) == [1, 1, 1])
    }

    @Test("belong to the phase in which they were taken, and show its heaviest path, with the program's own code")
    func phases() throws {
        let stacks = try #require(
            stacks { records in
                map(&records)
                records.sample(2_499, stack: [0x40_0010])
                for time in [2_500, 3_000, 4_000] { records.sample(Int64(time), stack: [0x20_1010, 0x40_0020]) }
                // After the last phase.
                records.sample(1_000_001, stack: [0x40_0010])
            })
        #expect(stacks.counts.map(\.phase) == [0, 1])
        #expect(stacks.counts.map(\.count) == [1, 3])
        let place = Dictionary(uniqueKeysWithValues: zip(stacks.places, stacks.places.indices))
        let names = [
            try #require(place[.init(image: 0, offset: 0x10, isInnermost: true)]): ["open_log"],
            try #require(place[.init(image: 0, offset: 0x20, isInnermost: false)]): ["main"],
            try #require(place[.init(image: 1, offset: 0x1010, isInnermost: true)]): ["memcpy"],
        ]
        var recording = LaunchRecording(
            program: LaunchedProgram(command: ["app"], executables: ["/bin/app"], processID: 100),
            host: RecordingHost(architecture: "x86_64", kernel: "6.1", processors: 1),
            requested: WallTime(seconds: 0),
            phases: Self.phases, end: LaunchEnd(kind: .exit, time: .milliseconds(1)),
            samples: stacks.calls(named: names))
        stacks.addCalls(named: names, to: &recording.phases)
        #expect(recording.phases.map { $0.samples?.count } == [1, 3])
        #expect(
            recording.phasePaths == [
                .init(title: "own constructors", count: 1, calls: ["*open_log"]),
                .init(title: "main", count: 3, calls: ["*main", "memcpy"]),
            ])
        // What is written can be read.
        let read = try RecordingCoding.decode(try RecordingCoding.encode(recording))
        #expect(read.phases == recording.phases)
    }

    @Test("query no file for code whose file's beginning is not mapped, or that belongs to no file")
    func withoutBase() throws {
        let stacks = try #require(
            stacks { records in
                records.map(1_010, Self.libc, at: 0x20_1000, length: 0x4000, protection: 5, offset: 0x800, inode: 4)
                records.map(1_020, "[vdso]", at: 0x30_0000, length: 0x1000, protection: 5, inode: 9)
                records.map(1_030, "//anon", at: 0x40_0000, length: 0x1000, protection: 5, inode: 9)
                records.sample(2_000, stack: [0x20_1010, 0x30_0010, 0x40_0010])
            })
        #expect(stacks.images.map(\.inode) == [0, 0, 0])
        #expect(stacks.calls().roots.map(\.function) == ["anon"])
    }

    @Test("forget earlier mappings when another program is executed")
    func execution() throws {
        let stacks = try #require(
            stacks { records in
                map(&records)
                records.execute(1_500, "next")
                records.map(1_510, "/bin/next", at: 0x40_0000, length: 0x1000, protection: 5, inode: 5)
                records.sample(2_000, stack: [0x20_1010, 0x40_0010])
            })
        #expect(stacks.paths == ["/bin/next"])
    }

    @Test("become a tree of named calls: with inlined ones, without thunks, and by files without names")
    func tree() throws {
        let stacks = try #require(
            stacks { records in
                map(&records)
                records.sample(2_000, stack: [0x20_1010, 0x40_0010])
                records.sample(3_000, stack: [0x20_2020, 0x20_1020, 0x40_0010])
                records.sample(4_000, stack: [0x20_2020, 0x20_2028, 0x40_0020])
            })
        // main, its inlined helper; memcpy; a thunk below open.
        let place = Dictionary(uniqueKeysWithValues: zip(stacks.places, stacks.places.indices))
        func index(_ image: Int, _ offset: UInt64, _ isInnermost: Bool) throws -> Int {
            try #require(place[.init(image: image, offset: offset, isInnermost: isInnermost)])
        }
        let samples = stacks.calls(named: [
            try index(0, 0x10, false): ["main", "helper"], try index(1, 0x1010, true): ["memcpy"],
            try index(1, 0x1020, false): [], try index(1, 0x2020, true): ["open"],
            try index(0, 0x20, false): ["main"],
        ])
        #expect(samples.count == 3)
        #expect(samples.roots.map(\.function) == ["main"] && samples.roots.map(\.count) == [3])
        let main = try #require(samples.roots.first)
        #expect(main.object == "/bin/app")
        #expect(main.callees.map(\.function) == ["helper", "libc.so.6"] && main.callees.map(\.count) == [2, 1])
        #expect(main.callees[0].callees.map(\.function) == ["memcpy", "open"])
        #expect(main.callees[1].callees.map(\.function) == ["open"])
    }

    @Test("show neighboring unnamed calls in the same file as one")
    func unnamed() throws {
        let stacks = try #require(
            stacks { records in
                map(&records)
                records.sample(2_000, stack: [0x20_2020, 0x20_1020, 0x40_0010])
            })
        let samples = stacks.calls()
        #expect(samples.roots.first?.callees.map(\.function) == ["libc.so.6"])
        #expect(samples.roots.first?.callees.first?.callees == [])
    }

    @Test("have names of bounded length and a tree of bounded size, without control characters")
    func bounded() throws {
        let stacks = try #require(
            stacks { records in
                records.map(1_010, "/bin/app", at: 0x40_0000, length: 0x100_0000, protection: 5, inode: 3)
                for index in 0..<12_000 {
                    records.sample(2_000 + Int64(index), stack: [0x40_0000 + UInt64(index) * 16])
                }
            })
        let evil = "\u{1b}[2J\n" + String(repeating: "x", count: 5_000)
        let names = Dictionary(uniqueKeysWithValues: stacks.places.indices.map { ($0, ["\($0)" + evil]) })
        let samples = stacks.calls(named: names)
        #expect(samples.count == 12_000)
        #expect((1_000..<12_000).contains(samples.roots.count))
        #expect(samples.roots.allSatisfy { $0.function.count <= 255 })
        #expect(!samples.roots.contains { $0.function.contains("\u{1b}") || $0.function.contains("\n") })
    }
}
