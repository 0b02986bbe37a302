// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Where a running process spends its time: `watchdogd sample`.
public struct ProcessSampling {
    /// How the result is written.
    public enum Format: String, Sendable, CaseIterable {
        /// A call tree for people.
        case text
        /// A line for each stack, for flame graphs.
        case collapsed
        /// A file for speedscope.
        case speedscope
        /// The call tree for programs.
        case json
    }

    private let process: Int32
    private let duration: Duration
    private let interval: Duration
    private let stopsRunning: Bool

    /// - Parameters:
    ///   - process: the process.
    ///   - duration: how long to look.
    ///   - interval: from one look to the next.
    ///   - stopsRunning: whether threads on a CPU may be stopped for a moment.
    public init(of process: Int32, duration: Duration, interval: Duration, stopsRunning: Bool) {
        self.process = process
        self.duration = duration
        self.interval = interval
        self.stopsRunning = stopsRunning
    }

    /// Looks, and returns what is to be printed; SIGINT and SIGTERM end it early.
    ///
    /// - Throws: ``RunError`` when the process cannot be looked at.
    public func text(as format: Format) throws -> String {
        let samples = try samples()
        return switch format {
        case .text: samples.text
        case .collapsed: samples.collapsed
        case .speedscope: samples.speedscope
        case .json: samples.json
        }
    }

    private func samples() throws -> ProcessSamples {
        // Before the first thread: they have to reach the one that waits for them.
        SignalSource.block([SIGINT, SIGTERM])
        let target = try ForeignProcess(process)
        let options = SamplingOptions(
            pidfd: target.pidfd.descriptor.number, startTime: target.startTime, interval: interval,
            duration: duration, stopsRunning: stopsRunning)
        let time = WatchdogReport.WallTime.current()
        let sampling: Sampling
        do {
            sampling = try withExtendedLifetime(target) { () throws(SnapshotError) in
                try Sampling.take(of: process, options, pause: Self.pause)
            }
        } catch {
            throw RunError(
                error.errno == .noSuchProcess ? "process \(process) ended before it was looked at" : "\(error)",
                exitCode: error.errno == .noSuchProcess ? 66 : 74)
        }
        var limits = Symbolicator.Limits()
        limits.budget = .seconds(30)
        limits.cpuSeconds = 60
        return sampling.samples(
            named: target.name, path: target.path, at: time, with: Symbolicator(limits: limits))
    }

    /// False when one of the signals that end it has come.
    private static func pause(until moment: Instant) -> Bool {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        while true {
            let left = max(0, (moment - .now()).nanoseconds)
            var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            if sigtimedwait(&signals, nil, &time) > 0 { return false }
            if errno != EINTR { return true }
        }
    }
}
