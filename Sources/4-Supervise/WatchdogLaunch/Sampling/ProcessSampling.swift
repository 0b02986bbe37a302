// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import WatchdogBase
import WatchdogCapture
import WatchdogLinux
import WatchdogRendering
import WatchdogVerdict

/// Where a running process spends its time: `watchdogd sample`.
public struct ProcessSampling {
    /// The output format.
    public enum Format: String, Sendable, CaseIterable {
        /// A call tree to read.
        case text
        /// One line per stack, for flame graphs.
        case collapsed
        /// A speedscope file.
        case speedscope
        /// The call tree as JSON.
        case json
    }

    /// What takes time.
    public enum Stage: Sendable {
        /// Samples are taken; the fraction of the time that has passed.
        case sampling(Double)
        /// The frames are being named.
        case symbolicating
    }

    private let process: Int32
    private let duration: Duration
    private let interval: Duration
    private let stopsRunning: Bool

    /// Prepares the sampling of a process.
    ///
    /// - Parameters:
    ///   - process: its id.
    ///   - duration: how long to sample.
    ///   - interval: the time between samples.
    ///   - stopsRunning: whether threads that are on a CPU may be stopped briefly.
    public init(of process: Int32, duration: Duration, interval: Duration, stopsRunning: Bool) {
        self.process = process
        self.duration = duration
        self.interval = interval
        self.stopsRunning = stopsRunning
    }

    /// Samples the process and returns the text to print; SIGINT and SIGTERM end it early.
    ///
    /// - Parameter progress: called at most ten times a second, on any thread.
    /// - Throws: ``RunError`` if the process cannot be sampled.
    public func text(as format: Format, progress: @escaping @Sendable (Stage) -> Void = { _ in }) throws -> String {
        let samples = try samples(progress)
        return switch format {
        case .text: samples.text
        case .collapsed: samples.collapsed
        case .speedscope: samples.speedscope
        case .json: samples.json
        }
    }

    private func samples(_ progress: @escaping @Sendable (Stage) -> Void) throws -> ProcessSamples {
        // Block before the first thread starts, so that the signals reach the thread that waits for them.
        SignalSource.block([SIGINT, SIGTERM])
        let target = try ForeignProcess(process)
        let options = SamplingOptions(
            pidfd: target.pidfd.descriptor.number, startTime: target.startTime, interval: interval,
            duration: duration, stopsRunning: stopsRunning)
        let time = WallTime.now()
        let sampling: Sampling
        let start = Instant.now()
        let shown = Mutex(start)
        let pause = { @Sendable [duration] (moment: Instant) -> Bool in
            let now = Instant.now()
            let isDue = shown.withLock { last in
                guard now - last >= .milliseconds(100) else { return false }
                last = now
                return true
            }
            if isDue { progress(.sampling((now - start) / duration)) }
            return Self.pause(until: moment)
        }
        progress(.sampling(0))
        do {
            sampling = try withExtendedLifetime(target) { () throws(SnapshotError) in
                try Sampling.take(of: process, options, pause: pause)
            }
        } catch {
            throw RunError(
                error.errno == .noSuchProcess ? "process \(process) ended before it could be read" : "\(error)",
                exitCode: error.errno == .noSuchProcess ? 66 : 74)
        }
        progress(.symbolicating)
        var limits = Symbolicator.Limits()
        limits.work = .seconds(20)
        limits.budget = .seconds(60)
        limits.cpuSeconds = 60
        return sampling.samples(
            named: target.name, path: target.path, at: time, with: Symbolicator(limits: limits))
    }

    /// Waits; false if SIGINT or SIGTERM arrived.
    private static func pause(until moment: Instant) -> Bool {
        !SignalSource.wait(for: [SIGINT, SIGTERM], atMost: max(.zero, moment - .now()))
    }
}
