// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase

@testable import WatchdogRecording
@testable import WatchdogRendering

/// Whatever a `.launch` file holds, whatever a launch makes the kernel record, and whatever a program has in its memory when
/// it begins: it becomes a recording that can be shown in every form and written as a file, or is refused.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecording(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    switch bytes.first {
    case UInt8(ascii: "{"): checkFile(bytes)
    case UInt8(ascii: "M"): checkMemory(Array(bytes.dropFirst()))
    case UInt8(ascii: "n"): checkFormat(bytes)
    default: checkRecords(bytes)
    }
    return 0
}

private func checkFile(_ bytes: [UInt8]) {
    do throws(RecordingCodingError) {
        check(try RecordingCoding.decode(bytes))
    } catch {
        precondition(!error.description.isEmpty)
    }
}

private func check(_ recording: LaunchRecording) {
    let page = LaunchPage.render(recording).utf8
    // The lanes and the script that draws them, whatever the names on the page.
    let scripts = recording.lanes.contains { !$0.spans.isEmpty } ? 2 : 0
    precondition(page.count(of: "</script") == scripts && page.count(of: "<script") == scripts)
    precondition(page.count(of: "<script src") == 0 && page.count(of: "=\"javascript:") == 0)
    checkPackets(PerfettoTrace.encode(recording))
    guard let file = try? RecordingCoding.encode(recording) else { preconditionFailure("it cannot be written") }
    precondition((try? RecordingCoding.decode(file)) == recording)
    // The text takes longer than everything else.
    guard file.count % 4 == 0 else { return }
    let lines = recording.text().split(separator: "\n")
    precondition(lines.count <= 1_000)
    // Names are cut, numbers are not.
    for line in lines { precondition(String(line).singleLine() == line && line.count <= 200) }
}

extension String.UTF8View {
    fileprivate func count(of text: StaticString) -> Int {
        withContiguousStorageIfAvailable { bytes in
            var count = 0
            var rest = UnsafeRawBufferPointer(bytes)
            while rest.count >= text.utf8CodeUnitCount, let start = rest.baseAddress,
                let found = memchr(start, Int32(text.utf8Start[0]), rest.count - text.utf8CodeUnitCount + 1)
            {
                if memcmp(found, text.utf8Start, text.utf8CodeUnitCount) == 0 { count += 1 }
                rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(found) - start + 1)...])
            }
            return count
        } ?? 0
    }
}

/// A trace is a list of packets: protobuf's fields of number 1, each with its length.
private func checkPackets(_ trace: [UInt8]) {
    var index = 0
    while index < trace.count {
        precondition(trace[index] == 1 << 3 | 2)
        index += 1
        var length = 0
        var shift = 0
        while trace[index] > 127 {
            length |= Int(trace[index] & 127) << shift
            shift += 7
            index += 1
        }
        length |= Int(trace[index]) << shift
        index += 1 + length
    }
    precondition(index == trace.count)
}

// MARK: - Records of the kernel

/// A byte for the rung, one for the end, two for its time in microseconds, one for marks, one for the program; then records.
private func checkRecords(_ bytes: [UInt8]) {
    guard bytes.count >= 6 else { return }
    let ends: [LaunchEnd.Kind] = [.firstFrame, .ready, .useful, .listen, .idle, .exit, .killed, .timeLimit]
    let requested = Instant(nanoseconds: 1_000_000_000)
    let end = requested + .microseconds(Int64(bytes[2]) | Int64(bytes[3]) << 8)
    var log = LaunchLog(requested: requested, process: 100, rung: Rung.allCases[Int(bytes[0] % 4)])
    log.end = (ends[Int(bytes[1] % 8)], end, bytes[1] % 8 < 5 ? nil : Int32(bytes[1]))
    log.stopped = end + .seconds(1)
    let marks: [LaunchMark.Kind] = [
        .hello, .firstFrame, .ready, .useful, .extendedBegin, .extendedEnd, .exit, .signpost,
    ]
    for (index, kind) in marks.enumerated() where bytes[4] & 1 << index != 0 {
        log.marks.append((kind, requested + .microseconds(100 * (index + 1)), kind == .signpost ? "loaded" : nil))
    }
    log.executions = [
        .init(time: requested + .microseconds(40), path: "/bin/sh", released: requested + .microseconds(45)),
        .init(
            time: requested + .microseconds(52), path: "/bin/app", image: image(bytes[5]),
            released: requested + .microseconds(60)),
    ]
    if bytes[5] & 16 != 0 { log.stops = stops(from: requested) }
    log.looks = [.init(thread: 100, time: requested + .microseconds(700), call: "wait4")]
    log.threads = [
        .init(
            process: 100, thread: 100, name: "app",
            scheduling: ThreadScheduling(policy: "SCHED_OTHER", nice: 0, priority: 0, affinity: "0-1"),
            accounting: ThreadTime(running: .microseconds(300), waiting: .microseconds(20))),
        .init(process: 101, thread: 101, name: "child"),
    ]
    log.callNames = [202: "futex", 50: "listen", 61: "wait4", 0: "read"]
    log.streams = [
        1: .task, 2: .schedulerSwitch, 3: .schedulerWaking, 4: .systemCall, 5: .clock,
        11: .boundary(.linker, program: 1), 12: .boundary(.debugState, program: 1), 13: .boundary(.entry, program: 1),
        14: .boundary(.main, program: 1),
    ]
    log.layouts = layouts
    log.samplingInterval = bytes[5] & 32 == 0 ? .zero : .milliseconds(1)
    log.records = Array(bytes.dropFirst(6))
    let (recording, stacks) = LaunchDecoder.recording(
        of: log, program: LaunchedProgram(command: ["app"], executables: [], processID: 100),
        host: RecordingHost(architecture: "x86_64", kernel: "6.18", processors: 2), requested: WallTime(seconds: 0),
        ladder: [RungAttempt(rung: log.rung, used: true)], resources: LaunchResources())
    precondition(!recording.phases.isEmpty)
    precondition(zip(recording.phases, recording.phases.dropFirst()).allSatisfy { $0.end == $1.begin })
    precondition(recording.phases.allSatisfy { $0.stopped <= $0.wall })
    precondition(recording.objects.count <= 4_096)
    if let stacks {
        precondition(stacks.places.allSatisfy { stacks.images.indices.contains($0.image) })
        precondition(stacks.calls() == recording.samples)
    }
    check(recording)
}

private func image(_ byte: UInt8) -> ProgramImage? {
    guard byte & 1 != 0 else { return nil }
    var image = ProgramImage(auxiliary: [], memory: MemoryReader { _, _ in nil })
    image.kind = byte & 2 != 0 ? .dynamic : .static
    image.runtime = byte & 4 != 0 ? "musl" : "glibc"
    image.boundaries = byte & 8 != 0 ? [.entry: 3] : [.linker: 1, .debugState: 2, .entry: 3, .main: 4]
    return image
}

private func stops(from requested: Instant) -> [LaunchLog.Stop] {
    [(LaunchBoundary.linker, 100), (.debugState, 150), (.debugState, 400), (.entry, 500), (.main, 600)].map { stop in
        LaunchLog.Stop(
            boundary: stop.0, program: 1, time: requested + .microseconds(stop.1),
            accounting: ThreadTime(running: .microseconds(stop.1 / 2)), released: requested + .microseconds(stop.1 + 9))
    }
}

/// Those of Linux 6.18.
private let layouts = TracepointLayouts(
    schedulerSwitch: TracepointLayout(
        format: """
            ID: 372
            \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
            \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
            \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
            \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
            \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;
            """),
    schedulerWaking: TracepointLayout(
        format: """
            ID: 375
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
            """),
    systemCall: TracepointLayout(format: "ID: 443\n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"))

/// A `format` file of tracefs.
private func checkFormat(_ bytes: [UInt8]) {
    guard let layout = TracepointLayout(format: String(decoding: bytes, as: UTF8.self)) else { return }
    let record = ByteWindow(bytes)
    for name in ["prev_pid", "prev_state", "next_comm", "next_pid", "pid", "id"] {
        precondition(layout.integer(name, in: record) == nil || layout.has(name))
        precondition((layout.text(name, in: record) ?? "").utf8.count <= 3 * 256)
    }
}

// MARK: - The memory of a program

/// 256 bytes of `/proc/PID/auxv`, then what lies at 0x40000.
private func checkMemory(_ bytes: [UInt8]) {
    let memory = Array(bytes.dropFirst(256))
    let image = ProgramImage(
        auxiliary: Array(bytes.prefix(256)),
        memory: MemoryReader { address, count in
            guard address >= 0x40000, address - 0x40000 <= UInt64(memory.count) else { return nil }
            let part = memory[Int(address - 0x40000)...].prefix(count)
            return part.count == count ? Array(part) : nil
        })
    precondition((image.interpreter ?? "").utf8.count <= 3 * 4_096)
    if let id = image.buildID {
        precondition((2...128).contains(id.utf8.count) && id.allSatisfy { $0.isHexDigit })
    }
    precondition(image.kind != .unknown || image.boundaries.isEmpty)
}
