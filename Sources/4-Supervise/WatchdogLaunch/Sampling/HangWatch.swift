// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogBase
package import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogVerdict

/// Samples an app whose allowance is running out, without stopping it, and measures the strain on the machine.
///
/// Isolation: any thread; nothing here waits.
package final class HangWatch: Sendable {
    /// The result of sampling.
    package struct Record: Sendable {
        /// Nil if sampling has not ended.
        package var sampling: Sampling?
        var strain: Strain
    }

    /// The time between samples.
    package static let interval = Duration.milliseconds(100)
    /// The most samples of a launch, which is sampled from its beginning on.
    private static let launchSamples = 100
    /// Extensions can stretch an allowance to minutes; its beginning is enough.
    private static let longest = Duration.seconds(60)
    private static let consumerCount = 4

    /// When sampling began.
    let began: Instant
    private let session: SamplingSession
    private let readings: Readings

    /// Starts sampling.
    ///
    /// - Parameters:
    ///   - process: the app's main process.
    ///   - startTime: its start time, so that another process with the same id is not sampled.
    ///   - thread: the thread that runs the main loop.
    ///   - interval: the time between samples.
    ///   - copying: reads the app's memory.
    ///   - seat: taken as long as it samples.
    ///   - onFirstLook: called once, on another thread, when the first sample is complete and no thread is stopped
    ///     anymore.
    convenience init(
        of process: Int32, startTime: UInt64?, thread: Int32, every interval: Duration, at now: Instant,
        by copying: Copying, seat: ThreadSeat, onFirstLook: @escaping @Sendable () -> Void
    ) throws(SnapshotError) {
        let readings = Readings(process, thread: thread)
        let session = try SamplingSession(
            of: process,
            SamplingOptions(startTime: startTime, interval: interval, duration: Self.longest),
            by: copying, seat: seat, onFirstLook: onFirstLook
        ) { readings.read() }
        self.init(session, readings, at: now)
    }

    /// A watch with samples that are taken already.
    convenience init(_ session: SamplingSession, of process: Int32, at now: Instant) {
        self.init(session, Readings(process, thread: process), at: now)
    }

    private init(_ session: SamplingSession, _ readings: Readings, at now: Instant) {
        began = now
        self.session = session
        self.readings = readings
    }

    /// The time between samples of a launch: longer for a longer allowance, so that their number is the same.
    static func launchInterval(_ spec: AppSpec) -> Duration {
        let allowance =
            spec.lifecycle.launchesInBackground ? spec.lifecycle.backgroundLaunch : spec.allowances.launch
        return max(interval, allowance / launchSamples)
    }

    /// Stops sampling without waiting.
    package func stop() {
        session.stop()
    }

    /// Calls a closure once sampling has ended, at once or on another thread; to be called once, after ``stop()``.
    func whenEnded(_ call: @escaping @Sendable () -> Void) { session.whenEnded(call) }

    /// What was recorded; nil if there was nothing to read, or the kernel holds the thread that reads.
    ///
    /// Call it once, after ``stop()``, and not on the loop.
    package func record() -> Record? {
        let sampling = try? session.result?.get()
        return readings.strain().map { Record(sampling: sampling, strain: $0) }
    }

    /// The strain on the machine, read with each sample.
    ///
    /// Isolation: ``read()`` on the sampling thread; ``strain()`` on any, which does not wait for the other.
    private final class Readings: Sendable {
        private struct State {
            var gauge: StrainGauge?
            var consumers: CPUConsumers?
            var use: (of: CPUUse, at: Instant)?
            /// Not before: what reading all processes costs must stay small beside their work.
            var nextUse = Instant.now()
            var first: StrainGauge.Reading?
            var last: StrainGauge.Reading?

            mutating func measuring(_ read: (inout State) -> Void) {
                let began = Instant.now()
                read(&self)
                let ended = Instant.now()
                nextUse = ended + (ended - began) * useRarity
            }
        }

        /// Reading all processes takes at most one part of this many of a CPU.
        private static let useRarity = 20

        private let process: Int32
        private let thread: Int32
        private let state = Mutex(State())

        init(_ process: Int32, thread: Int32) {
            self.process = process
            self.thread = thread
        }

        func read() {
            state.withLock { state in
                let gauge = state.gauge ?? StrainGauge(process, thread: thread)
                let reading = gauge.read()
                // Keep the last values of a process that has died.
                if reading.majorFaults != nil || state.last == nil { state.last = reading }
                if state.gauge == nil {
                    state.gauge = gauge
                    state.first = reading
                    state.measuring { $0.consumers = .read() }
                } else if reading.majorFaults != nil, reading.at >= state.nextUse {
                    state.measuring { state in state.use = state.consumers.map { ($0.use(), reading.at) } }
                }
            }
        }

        func strain() -> Strain? {
            let strain: Strain?? = state.withLockIfAvailable { state in
                guard let gauge = state.gauge, let first = state.first, let last = state.last else { return nil }
                var strain = Strain(window: last.at - first.at)
                if let before = first.throttling, let after = last.throttling {
                    strain.throttled = max(.zero, after.throttledTime - before.throttledTime)
                    strain.throttledPeriods = after.periods >= before.periods ? after.periods - before.periods : 0
                }
                strain.memoryStalled = Self.difference(first.memory, last.memory)
                strain.memorySource = gauge.memorySource
                strain.diskStalled = Self.difference(first.disk, last.disk)
                strain.diskSource = gauge.diskSource
                if let before = first.stolen, let after = last.stolen { strain.stolen = max(.zero, after - before) }
                if let before = first.busy, let after = last.busy { strain.busy = max(.zero, after - before) }
                if let before = first.majorFaults, let after = last.majorFaults, after >= before {
                    strain.majorFaults = after - before
                }
                // The app may be gone by now, and its CPU time with it.
                if let (use, end) = state.use ?? state.consumers.map({ ($0.use(), .now()) }) {
                    strain.processorWindow = end - first.at
                    strain.consumers = use.most(consumerCount).map {
                        Strain.Consumer(process: Int($0.process), name: $0.name, time: $0.time)
                    }
                    strain.processorTime = use.time(below: process).map {
                        Strain.ProcessorTime(total: $0.total, own: $0.own)
                    }
                }
                return strain
            }
            return strain ?? nil
        }

        private static func difference(_ first: Pressure?, _ last: Pressure?) -> Duration {
            guard let first, let last else { return .zero }
            return max(.zero, last.someStalled - first.someStalled)
        }
    }
}
