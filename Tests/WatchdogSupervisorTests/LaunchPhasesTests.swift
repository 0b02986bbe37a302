// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogRecording
import WatchdogReport
import WatchdogWire

@testable import WatchdogLaunch
@testable import WatchdogRun

@Suite("The phases of a supervised launch")
struct LaunchPhasesTests {
    private static let process: Int32 = 100
    private static let launchedAt = Instant(nanoseconds: 1_000_000_000_000)

    private func at(_ milliseconds: Int64) -> Instant { Self.launchedAt + .milliseconds(milliseconds) }

    /// A record as the kernel writes it: header, payload, and the trailer of sample_id_all.
    private func record(_ kind: UInt32, _ flags: UInt16, _ payload: [UInt8], _ time: Instant) -> [UInt8] {
        func bytes(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
        let trailer =
            bytes(Self.process) + bytes(Self.process) + bytes(time.nanoseconds) + bytes(UInt32(0)) + bytes(UInt32(0))
            + bytes(UInt64(1))
        return bytes(kind) + bytes(flags) + bytes(UInt16(8 + payload.count + trailer.count)) + payload + trailer
    }

    /// Executed 1 ms before the launch was recorded, on a CPU until 10 ms, blocked until 50 ms.
    private func log(lost: Bool = false) -> StartupLog {
        let name = [UInt8](repeating: 0, count: 24)
        var records = record(3, 1 << 13, name, at(-1)) + record(14, 1 << 13, [], at(10)) + record(14, 0, [], at(50))
        if lost { records += record(13, 0, [7, 0, 0, 0, 0, 0, 0, 0], at(50)) }
        var log = StartupLog(process: Self.process)
        log.take(records)
        return log
    }

    private func trace(_ log: StartupLog) -> LaunchTrace {
        var trace = LaunchTrace()
        trace.noteRequest(at: at(-3))
        trace.note(StartupReading(log: log))
        trace.noteHello(at: at(60))
        return trace
    }

    private func phases(_ trace: LaunchTrace, until end: Int64, isReady: Bool = false) -> [LaunchDetails.Phase] {
        LaunchPhases(trace, launchedAt: Self.launchedAt, until: at(end), isReady: isReady).phases
    }

    @Test("have no gaps, and state what the first thread did in each")
    func accounts() {
        let phases = phases(trace(log()), until: 100, isReady: true)
        #expect(phases.map(\.name) == ["exec", "hello", "ready"])
        #expect(phases.map { $0.startNanoseconds / 1_000_000 } == [-3, -1, 60])
        #expect(phases.map { $0.nanoseconds / 1_000_000 } == [2, 61, 40])
        #expect(phases.map(\.runningNanoseconds) == [nil, 21_000_000, 40_000_000])
        #expect(phases.map(\.blockedNanoseconds) == [nil, 40_000_000, 0])
        #expect(phases.map(\.isOpen) == [false, false, false])
    }

    @Test("do not count records from after the end", arguments: [49, 51] as [Int64])
    func excess(end: Int64) throws {
        var trace = LaunchTrace()
        trace.noteRequest(at: at(-3))
        trace.note(StartupReading(log: log()))
        let last = try #require(phases(trace, until: end).last)
        #expect(last.isOpen)
        let parts = [last.runningNanoseconds, last.preemptedNanoseconds, last.blockedNanoseconds].compactMap(\.self)
        #expect(parts.reduce(0, +) == last.nanoseconds)
        #expect(last.nanoseconds == (end + 1) * 1_000_000)
    }

    @Test("have durations once they have ended, but not if another watchdogd began the launch")
    func durations() {
        let trace = trace(log())
        let launchedAt = Self.launchedAt
        #expect(
            trace.durations(launchedAt: launchedAt, ready: .milliseconds(100), until: at(500))
                == [.exec: .milliseconds(2), .hello: .milliseconds(61), .ready: .milliseconds(40)])
        #expect(
            trace.durations(launchedAt: launchedAt, ready: nil, until: at(500))
                == [.exec: .milliseconds(2), .hello: .milliseconds(61)])
        #expect(trace.durations(launchedAt: nil, ready: nil, until: at(500)) == [:])
        var resumed = LaunchTrace()
        resumed.note(StartupReading(log: log()))
        #expect(resumed.durations(launchedAt: launchedAt, ready: .milliseconds(100), until: at(500)) == [:])
    }

    @Test("are in the summary of a run that was not ready, with how the first thread spent them")
    func unfinished() throws {
        let trace = trace(log())
        let launch = try #require(
            RunSummary.UnfinishedLaunch(trace, launchedAt: Self.launchedAt, .killed, after: .milliseconds(500)))
        #expect(launch.milliseconds == 500)
        #expect(launch.phases.map(\.name) == ["exec", "hello", "ready"])
        #expect(launch.phases.map(\.isOpen) == [nil, nil, true])
        #expect(launch.phases.map(\.blockedMilliseconds) == [nil, 40, 0])
        #expect(launch.phases.last?.milliseconds == 440)
        #expect(
            RunSummary.UnfinishedLaunch(trace, launchedAt: Self.launchedAt, .ready, after: .milliseconds(500)) == nil)
    }

    @Test("are complete when the ready notice is published")
    func notice() {
        let effects = ScriptedEffects()
        var spec = AppSpec(name: "App")
        spec.readiness = .notify
        let supervisor = effects.supervise(spec)
        var heard: [(hasLog: Bool, phases: Set<LaunchPhaseName>)] = []
        supervisor.onNotice = { [unowned supervisor] notice in
            guard case .ready = notice else { return }
            let record = supervisor.record
            let durations = record.trace.durations(
                launchedAt: record.launchedAt, ready: record.launchDuration, until: effects.now)
            heard.append((record.trace.startup.log != nil, Set(durations.keys)))
        }
        effects.startup = StartupReading(log: log())
        supervisor.launch()
        effects.run(for: .milliseconds(100))
        effects.notify("READY=1")
        #expect(heard.map(\.hasLog) == [true])
        #expect(heard.map(\.phases) == [[.exec, .ready]])
    }

    @Test("claim no times if records were lost")
    func lost() {
        let phases = phases(trace(log(lost: true)), until: 100)
        #expect(phases.map(\.name) == ["exec", "hello", "ready"])
        #expect(phases.allSatisfy { $0.runningNanoseconds == nil && $0.blockedNanoseconds == nil })
    }

    @Test("state why nothing was recorded, and only then", arguments: [nil, "perf events are refused"])
    func refusal(reason: String?) {
        var trace = LaunchTrace()
        trace.noteRequest(at: at(-3))
        trace.note(StartupReading(refusal: reason))
        let details = LaunchDetails(trace, launchedAt: Self.launchedAt, ready: nil, until: at(100))
        #expect(details?.unrecorded == reason)
        #expect(details?.lines.contains { $0.hasSuffix(" unknown: perf events are refused") } == (reason != nil))
    }
}
