// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
public import WatchdogReport
import WatchdogVerdict

/// All stacks of a running process, which does not notice: `watchdogd capture`.
public struct ProcessCapture {
    private let process: Int32
    private let stopsRunning: Bool

    /// Prepares the capture of a process.
    ///
    /// - Parameters:
    ///   - process: its id.
    ///   - stopsRunning: whether threads that are on a CPU may be stopped briefly; otherwise they have no stack.
    public init(of process: Int32, stopsRunning: Bool) {
        self.process = process
        self.stopsRunning = stopsRunning
    }

    /// Captures the stacks; the process keeps running.
    ///
    /// - Throws: ``RunError`` if the process cannot be examined.
    public func report() throws -> Report {
        let target = try ForeignProcess(process)
        let options = SnapshotOptions(
            pidfd: target.pidfd.descriptor.number, startTime: target.startTime,
            stopsRunning: stopsRunning)
        let facts = facts(target)
        do {
            let snapshot = try Snapshot.take(of: process, options)
            return Report(of: facts, on: .current(), capture: Symbolicator().symbolicate(snapshot))
        } catch {
            throw RunError(
                error.errno == .noSuchProcess ? "process \(process) ended before it could be read" : "\(error)",
                exitCode: error.errno == .noSuchProcess ? 66 : 74)
        }
    }

    private func facts(_ target: ForeignProcess) -> IncidentFacts {
        let stat = ProcessStat.read(process)
        let status = ProcessStatus.read(process)
        let now = LaunchMoment.now()
        let launched = stat.map { LaunchMoment.ofProcess(startedAt: $0.startTime) } ?? now
        var facts = IncidentFacts(
            id: .random(), event: .sceneUpdate, exhaustion: .triggered, allowance: .zero, elapsed: .zero,
            appName: target.name, pid: Int(process), executablePath: target.path, userID: Int(status?.user ?? 0),
            parentName: stat.flatMap { ProcessStat.read($0.parent)?.name } ?? "unknown",
            parentPID: Int(stat?.parent ?? 0),
            launchTime: launched.time, captureTime: now.time, launchInstant: launched.instant,
            captureInstant: now.instant, evidence: evidence())
        facts.kind = .capture
        facts.enforcement = .report
        facts.arguments = ProcessFacts.arguments(process).map(\.description)
        facts.link = ProgramLink(of: target.name, facts.arguments, file: target.path)
        facts.environment = ProcessFacts.environment(process)?.dictionary ?? [:]
        let look = WaitLook(budget: .milliseconds(200)) { [process] in WaitLook.processes(from: process) }
        let trail = look.trail(process: process, thread: process)
        facts.trail = trail.details
        facts.strangers = trail.strangers(to: []).compactMap { Self.stranger($0) }
        return facts
    }

    /// A process that the main thread's wait leads to, which is not stopped; nil if it cannot be read.
    private static func stranger(_ stat: ProcessStat) -> OtherProcess? {
        var options = SnapshotOptions(startTime: stat.startTime, stopsRunning: false)
        options.glances = true
        guard let snapshot = try? Snapshot.take(of: stat.id, options) else { return nil }
        var process = OtherProcess(stat)
        process.arguments = ProcessFacts.arguments(stat.id).map(\.description)
        process.capture = Symbolicator().symbolicate(snapshot)
        return process
    }

    /// One examination of the main thread and of what it waits for.
    private func evidence() -> HangEvidence {
        var evidence = HangEvidence(processorCount: Machine.processorCount)
        guard let observation = try? ProcessProbe(process).observe() else { return evidence }
        evidence.state = observation.state.letter.first
        evidence.tracer = Int(observation.tracer ?? 0)
        evidence.syscall = observation.syscall
        evidence.waitChannel = observation.waitChannel
        if let syscall = observation.syscall, [.sleeping, .uninterruptible].contains(observation.state) {
            let look = WaitLook { [process] in WaitLook.processes(from: process) }
            evidence.waits = look.chain(process: process, thread: process, syscall: syscall).map { $0.details } ?? []
            evidence.besides = look.besides(process, of: process).map { $0.details }
        }
        return evidence
    }
}
