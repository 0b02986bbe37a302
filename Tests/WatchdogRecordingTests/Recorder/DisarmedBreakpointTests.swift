// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import TestSupport
import Testing
import WatchdogBase

@testable import WatchdogLinux
@testable import WatchdogRecording

/// A breakpoint that stays armed slows a loop around it, whether or not that executes its address.
@Suite("A breakpoint of a recording", .reapsChildren)
struct DisarmedBreakpointTests {
    /// Returns to the first instruction of `main` a thousand times, after it has stopped itself.
    private static let source = """
        #include <signal.h>
        int main(int turn, char **arguments) {
            if (turn == 1) raise(SIGSTOP);
            return turn < 1000 ? main(turn + 1, arguments) : 0;
        }
        """

    /// The boundaries in records, in order.
    private func boundaries(in records: [UInt8], _ streams: [UInt64: RecordStream]) -> [LaunchBoundary] {
        PerfRecordReader(records, streams: streams, layouts: TracepointLayouts()).compactMap {
            if case .boundary(let boundary, _) = $0.body { boundary } else { nil }
        }
    }

    @Test(
        "of a recording is disarmed by its first hit, and that of the dynamic linker by its second",
        arguments: [(.linker, 1), (.debugState, 2), (.entry, 1), (.main, 1)] as [(LaunchBoundary, Int)])
    func recorder(boundary: LaunchBoundary, count: Int) throws {
        let place: @convention(c) (Int32) -> Int32 = { $0 &* 7 }
        let address = UInt64(UInt(bitPattern: unsafeBitCast(place, to: Int.self)))
        // The events of this thread.
        let events: EventSet
        do throws(LinuxError) {
            events = try EventSet(process: 0, isWide: false)
        } catch {
            print("skipped: \(error)")
            return
        }
        try #require(events.addBreakpoint(boundary, program: 0, at: address, process: 0))
        let sum = (0..<1_000).reduce(Int32(0)) { $0 &+ place(Int32($1)) }
        #expect(sum != 0)
        events.drain()
        let hits = boundaries(in: events.records, events.streams)
        #expect(hits == Array(repeating: boundary, count: count))
    }

    @Test("of a supervised launch is disarmed by its first hit")
    func startup() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("again", "")
        let compiler = try LaunchRecorder.record(
            RecordingRequest(
                executable: "/usr/bin/cc",
                command: ["cc", "-O0", "-o", path, try folder.write("again.c", Self.source)], timeLimit: patience,
                rung: .d))
        try #require(compiler.exitCode == 0)
        let request = RecordingRequest(executable: path, command: [path])
        let program = try HeldProgram(request, environment: request.environment, inherited: -1)
        defer { program.abandon() }
        let event = wd_record_event(
            kind: WD_RECORD_NOTHING, value: 0, excludes_kernel: true, inherits: false, is_enabled: false)
        var ring = wd_record_ring()
        guard let (number, _) = try? event.open(program.pid), wd_record_ring_map(number, 64 << 10, &ring) == 0 else {
            return print("skipped: perf events are refused")
        }
        let owner = OwnedDescriptor(taking: number)
        defer { wd_record_ring_unmap(&ring) }
        let process = HeldProcess(
            pid: program.pid, pidfd: try OwnedDescriptor(duplicating: program.pidfd.descriptor.number),
            execution: try OwnedDescriptor(duplicating: program.status.number))
        let breakpoints = StartupBreakpoints(process, by: nil, ring: owner)
        program.release()
        try #require(eventually { ProcessStat.read(program.pid)?.state == .stopped })
        breakpoints.set()
        let (watch, streams) = breakpoints.watch
        try #require(watch?.boundaries.contains(.main) == true)
        try program.pidfd.send(SIGCONT)
        try #require(eventually { program.pidfd.hasExited })
        let records = [UInt8](unsafeUninitializedCapacity: ring.bytes) { buffer, count in
            count = wd_record_ring_take(&ring, buffer.baseAddress)
        }
        #expect(boundaries(in: records, streams.mapValues { .boundary($0, program: 0) }) == [.main])
        breakpoints.remove()
    }
}
