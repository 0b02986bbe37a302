// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase

@testable import WatchdogRecording

@Suite("A .launch file")
struct RecordingCodingTests {
    private let recording = LaunchRecording(
        program: LaunchedProgram(
            command: ["app", "-x"], executables: ["/bin/sh", "/usr/bin/app"], kind: .dynamic,
            interpreter: "/lib64/ld-linux-x86-64.so.2", runtime: "glibc", buildID: "ab01", processID: 12),
        host: RecordingHost(architecture: "x86_64", kernel: "6.18.0", processors: 2),
        requested: WallTime(seconds: 1_700_000_000, nanoseconds: 5, utcOffset: 3600),
        ladder: [
            RungAttempt(rung: .a, used: false, reason: "denied", remedy: "run as root"), .init(rung: .b, used: true),
        ],
        phases: [
            LaunchPhase(kind: .request, begin: .zero, end: .nanoseconds(700)),
            LaunchPhase(
                kind: .exec, begin: .nanoseconds(700), end: .milliseconds(2),
                time: ThreadTime(running: .nanoseconds(5), waiting: .nanoseconds(6), blocked: .nanoseconds(7)),
                isComplete: false, stopped: .nanoseconds(3)),
        ],
        marks: [LaunchMark(kind: .ready, time: .milliseconds(1)), LaunchMark(kind: .signpost, time: .zero, name: "x")],
        end: LaunchEnd(kind: .killed, time: .milliseconds(2), code: 9),
        objects: [
            LoadedObject(
                path: "/lib/libz.so.1", mapped: .microseconds(3), mapping: .nanoseconds(9), relocation: .zero,
                size: 4096,
                isUsed: false, isLate: true)
        ],
        lanes: [
            ThreadLane(
                threadID: 12, processID: 12, name: "app",
                scheduling: ThreadScheduling(policy: "SCHED_OTHER", nice: 19, priority: 0, affinity: "0-1"),
                begin: .zero,
                spans: [
                    LaneSpan(
                        state: .blocked, begin: .zero, end: .nanoseconds(4), detail: "futex",
                        waker: .thread(id: 7, name: "star loader", nice: 19, isOwn: true)),
                    LaneSpan(state: .blocked, begin: .nanoseconds(4), end: .nanoseconds(6), waker: .interrupt),
                    LaneSpan(state: .running, begin: .nanoseconds(6), end: .nanoseconds(8), processor: 1),
                ],
                accounting: ThreadTime(running: .nanoseconds(2)))
        ],
        samples: SampledCalls(
            interval: .microseconds(100), count: 4,
            roots: [
                .init(
                    function: "main", object: "/usr/bin/app", count: 3,
                    callees: [.init(function: "a", count: 2), .init(function: "b", count: 1)]),
                .init(function: "_start", count: 1),
            ]),
        resources: LaunchResources(user: .microseconds(4), minorFaults: 3, peakMemory: 4096), lostRecords: 2,
        notes: ["no wakers"]
    )

    @Test("A written recording is read back unchanged")
    func roundTrip() throws {
        let bytes = try RecordingCoding.encode(recording)
        #expect(try RecordingCoding.decode(bytes) == recording)
        #expect(try RecordingCoding.encode(RecordingCoding.decode(bytes)) == bytes)
    }

    @Test("Times are integer nanoseconds")
    func times() throws {
        let text = String(decoding: try RecordingCoding.encode(recording), as: UTF8.self)
        #expect(text.contains(#"{"begin":0,"end":700,"isComplete":true,"kind":"request"}"#))
        #expect(text.hasPrefix(#"{"end":{"code":9,"kind":"killed","time":2000000},"format":"watchdogd-launch""#))
    }

    @Test(
        "Text that is not a recording is rejected as such",
        arguments: ["", "{", "[]", "{}", "null", #"{"format":"perfetto"}"#, "\u{7f}ELF"])
    func notARecording(text: String) {
        #expect(code(of: Array(text.utf8)) == .notARecording)
    }

    @Test("A recording of a later version is rejected with the version's number")
    func newerVersion() throws {
        let bytes = try changed("\"version\":1", to: "\"version\":2")
        let error = #expect(throws: RecordingCodingError.self) { try RecordingCoding.decode(bytes) }
        #expect(error?.code == .newerVersion)
        #expect(error?.description.contains("version 2") == true)
    }

    @Test("An unknown key is ignored")
    func unknownKey() throws {
        #expect(try RecordingCoding.decode(changed("\"version\":1", to: "\"version\":1,\"new\":[{}]")) == recording)
    }

    @Test(
        "A value that no recording has is rejected",
        arguments: [
            ("\"end\":700", "\"end\":2000001", "overlap"), ("\"begin\":700", "\"begin\":-700", "phases[1].begin"),
            ("\"begin\":700", "\"begin\":9000000", "phases[1].end"), ("\"caller\":0", "\"caller\":9", "caller"),
            ("\"kind\":\"request\"", "\"kind\":\"sleep\"", "phases[0].kind"),
            ("\"lostRecords\":2", "\"lostRecords\":-2", "lost"),
            ("\"utcOffset\":3600", "\"utcOffset\":-2147483648", "requested"),
            ("\"path\":", "\"pth\":", "objects[0].path is missing"),
            ("\"mapped\":3000", "\"mapped\":9223372036854775807", "objects[0].mapped"),
        ])
    func damaged(part: String, replacement: String, place: String) throws {
        let bytes = try changed(part, to: replacement)
        let error = #expect(throws: RecordingCodingError.self) { try RecordingCoding.decode(bytes) }
        #expect(error?.code == .damaged)
        #expect(error?.description.contains(place) == true, "\(String(describing: error))")
    }

    @Test("Every truncation fails without a crash")
    func truncated() throws {
        let bytes = try RecordingCoding.encode(recording)
        for length in stride(from: 0, to: bytes.count - 2, by: 7) {
            #expect(code(of: Array(bytes[..<length])) == .notARecording)
        }
    }

    @Test("Calls nested deeper than the limit are cut when written and rejected when read")
    func deepCalls() throws {
        var call = SampledCalls.Call(function: "leaf", count: 1)
        for _ in 0..<600 { call = SampledCalls.Call(function: "f", count: 1, callees: [call]) }
        var deep = recording
        deep.samples = SampledCalls(interval: .milliseconds(1), count: 1, roots: [call])
        let text = String(decoding: try RecordingCoding.encode(deep), as: UTF8.self)
        #expect(throws: Never.self) { try RecordingCoding.decode(Array(text.utf8)) }
        let deeper = text.replacing(
            "\"caller\":510", with: "\"caller\":510,\"x\":0},{\"function\":\"g\",\"count\":1,\"caller\":511")
        #expect(code(of: Array(deeper.utf8)) == .damaged)
    }

    private func code(of bytes: [UInt8]) -> RecordingCodingError.Code? {
        do {
            _ = try RecordingCoding.decode(bytes)
            return nil
        } catch {
            return error.code
        }
    }

    private func changed(_ part: String, to replacement: String) throws -> [UInt8] {
        let text = String(decoding: try RecordingCoding.encode(recording), as: UTF8.self)
        #expect(text.contains(part))
        return Array(text.replacing(part, with: replacement).utf8)
    }
}
