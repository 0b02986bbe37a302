// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogRecording

@Suite("Constructors in records")
struct ConstructorDecoderTests {
    private static let library = "/lib/liblog.so"
    private static let app = "/bin/app"

    private func micro(_ time: Int) -> Int64 { 1_000_000_000 + Int64(time) * 1000 }

    /// The app's execution, the hits of its probes, and those of its other events; times are µs.
    private func log(
        _ hits: [(time: Int, event: UInt64)], end: Int = 1000, kind: LaunchEnd.Kind = .exit, runtime: String = "glibc",
        main: UInt64? = 4, _ more: (inout RawRecords) -> Void = { _ in }
    ) -> LaunchLog {
        var records = RawRecords()
        for (time, event) in hits { records.hit(micro(time), event: event) }
        records.execute(micro(50), "app")
        more(&records)
        var log = LaunchLog(requested: Instant(nanoseconds: micro(0)), process: 100, rung: .b)
        var image = ProgramImage(auxiliary: [], memory: MemoryReader { _, _ in nil })
        image.kind = .dynamic
        image.runtime = runtime
        image.boundaries = [.linker: 1, .debugState: 2, .entry: 3]
        image.boundaries[.main] = main
        log.executions = [.init(time: Instant(nanoseconds: micro(52)), path: Self.app, image: image)]
        log.records = records.bytes
        log.streams = [
            RawRecords.taskEvent: .task, 11: .boundary(.entry, program: 0), 12: .boundary(.main, program: 0),
            20: .constructor(0), 21: .constructor(1), 22: .constructor(2), 23: .constructor(3), 24: .constructor(99),
        ]
        log.probes = [
            .init(program: 0, path: Self.library, inode: 5, offset: 0x1100),
            .init(program: 0, path: Self.library, inode: 5, offset: 0x1200),
            .init(program: 0, path: Self.app, inode: 6, offset: 0x1300),
            .init(program: 7, path: Self.app, inode: 6, offset: 0x1400),
        ]
        log.end = (kind, Instant(nanoseconds: micro(end)), 0)
        log.stopped = Instant(nanoseconds: micro(end))
        return log
    }

    private func recording(_ log: LaunchLog) -> LaunchRecording {
        LaunchDecoder.recording(
            of: log, program: LaunchedProgram(command: ["app"], executables: [], processID: 100),
            host: RecordingHost(architecture: "x86_64", kernel: "6.18", processors: 2), requested: WallTime(seconds: 0),
            ladder: [], resources: LaunchResources()
        ).recording
    }

    private func spans(_ log: LaunchLog) throws -> [String] {
        try #require(recording(log).constructors).map { constructor in
            let times = "\(constructor.begin / .microseconds(1))-\(constructor.end / .microseconds(1))"
            return "\(constructor.isOwn ? "own" : "library") \(String(constructor.offset, radix: 16)) \(times)"
                + (constructor.isComplete ? "" : " open")
        }
    }

    @Test("last until the next one, the program's first instruction, or main")
    func ends() throws {
        let hits: [(Int, UInt64)] = [(100, 21), (150, 20), (400, 11), (420, 22), (500, 12)]
        #expect(
            try spans(log(hits)) == [
                "library 1200 100.0-150.0", "library 1100 150.0-400.0", "own 1300 420.0-500.0",
            ])
    }

    @Test("may also be called by others: only the first call before main counts")
    func laterCalls() throws {
        let afterMain: [(Int, UInt64)] = [(100, 20), (400, 11), (500, 12), (600, 20), (700, 21)]
        #expect(try spans(log(afterMain)) == ["library 1100 100.0-400.0"])
        let again: [(Int, UInt64)] = [(100, 20), (200, 20), (300, 21), (350, 20), (400, 11), (500, 12)]
        #expect(try spans(log(again)) == ["library 1100 100.0-300.0", "library 1200 300.0-400.0"])
    }

    @Test("count the main thread's states")
    func states() throws {
        let log = log([(100, 20), (400, 11), (500, 12)]) { records in
            records.change(micro(200), thread: 100, isOut: true, isPreempted: true)
            records.change(micro(260), thread: 100, isOut: false)
        }
        let constructor = try #require(recording(log).constructors?.first)
        #expect(constructor.time == ThreadTime(running: .microseconds(240), waiting: .microseconds(60)))
    }

    @Test("stay open if the program exits, is killed or is released during them")
    func open() throws {
        #expect(try spans(log([(100, 20)], kind: .timeLimit)) == ["library 1100 100.0-1000.0 open"])
        let exited = log([(100, 20)]) { $0.exit(micro(700), thread: 100) }
        #expect(try spans(exited) == ["library 1100 100.0-700.0 open"])
    }

    @Test("hits of an earlier program, of an unknown probe, or after the end of the launch do not count")
    func others() throws {
        #expect(try spans(log([(90, 23), (95, 24), (100, 20), (400, 11), (1500, 21)])) == ["library 1100 100.0-400.0"])
    }

    @Test("musl's constructors run after the program's first instruction")
    func musl() throws {
        let hits: [(Int, UInt64)] = [(90, 11), (100, 20), (150, 22), (500, 12)]
        #expect(try spans(log(hits, runtime: "musl")) == ["library 1100 100.0-150.0", "own 1300 150.0-500.0"])
    }

    @Test("constructors whose end is unknown from later events are omitted")
    func withoutMain() throws {
        #expect(try spans(log([(100, 20), (400, 11), (420, 22)], main: nil)) == ["library 1100 100.0-400.0"])
    }

    @Test("are missing if they were not timed, and empty if none ran")
    func untimed() {
        var log = log([])
        #expect(recording(log).constructors == [])
        log.probes = nil
        #expect(recording(log).constructors == nil)
    }

    @Test("survive encoding, are ignored by older readers, and may be missing in a file")
    func coding() throws {
        var recording = recording(log([(100, 20), (400, 11), (420, 22), (500, 12)]))
        recording.constructors?[0].function = "init_logger"
        let bytes = try RecordingCoding.encode(recording)
        #expect(try RecordingCoding.decode(bytes) == recording)
        #expect(RecordingCoding.version == 1)
        recording.constructors = nil
        let older = try RecordingCoding.encode(recording)
        #expect(!String(decoding: older, as: UTF8.self).contains("constructors\""))
        #expect(try RecordingCoding.decode(older).constructors == nil)
        let damaged = String(decoding: bytes, as: UTF8.self).replacing("\"offset\":4352", with: "\"offset\":-1")
        #expect(throws: RecordingCodingError.self) { try RecordingCoding.decode(Array(damaged.utf8)) }
    }
}
