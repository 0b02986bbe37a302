// SPDX-License-Identifier: Apache-2.0

import Synchronization
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Looks at an app whose allowance runs out: its stacks without a stop, and what else is short on the machine.
///
/// Isolation: may be used from any thread; only ``record(within:)`` waits.
final class HangWatch: Sendable {
    /// What the looks brought.
    struct Record: Sendable {
        /// Nil when it did not end in time.
        var sampling: Sampling?
        var strain: Strain
    }

    /// From one look to the next.
    static let interval = Duration.milliseconds(100)
    /// An allowance can be extended to minutes: then the beginning tells enough.
    private static let longest = Duration.seconds(60)
    private static let consumerCount = 4

    /// When it began.
    let began: Instant
    private let session: SamplingSession
    private let readings: Readings

    /// - Parameters:
    ///   - process: the app's main process.
    ///   - startTime: of that process, so that no other is taken for it.
    ///   - thread: the thread that runs the main loop.
    ///   - onFirstLook: called once, on another thread, when no thread is stopped any more.
    init(
        of process: Int32, startTime: UInt64?, thread: Int32, at now: Instant,
        onFirstLook: @escaping @Sendable () -> Void
    ) throws(SnapshotError) {
        began = now
        let readings = Readings(process, thread: thread)
        self.readings = readings
        session = try SamplingSession(
            of: process,
            SamplingOptions(startTime: startTime, interval: Self.interval, duration: Self.longest),
            onFirstLook: onFirstLook
        ) { readings.read() }
    }

    /// Ends the looks; returns at once.
    func stop() {
        session.stop()
    }

    /// What was seen; nil when there was nothing to see.
    ///
    /// To be called once, after ``stop()``, away from the loop.
    func record(within limit: Duration) -> Record? {
        let sampling = try? session.result(within: limit)?.get()
        return readings.strain().map { Record(sampling: sampling, strain: $0) }
    }

    /// What is short, read at the first look and at each one after it.
    ///
    /// Isolation: ``read()`` on the thread that looks; ``strain()`` after that has ended.
    private final class Readings: Sendable {
        private struct State {
            var gauge: StrainGauge?
            var consumers: CPUConsumers?
            var first: StrainGauge.Reading?
            var last: StrainGauge.Reading?
        }

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
                // What died with the process stays as it was last.
                if reading.majorFaults != nil || state.last == nil { state.last = reading }
                guard state.gauge == nil else { return }
                state.gauge = gauge
                state.first = reading
                state.consumers = .read()
            }
        }

        func strain() -> Strain? {
            state.withLock { state in
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
                if let before = first.majorFaults, let after = last.majorFaults, after >= before {
                    strain.majorFaults = after - before
                }
                strain.consumers =
                    state.consumers.map { earlier in
                        CPUConsumers.read().most(consumerCount, since: earlier).map {
                            Strain.Consumer(process: Int($0.process), name: $0.name, time: $0.time)
                        }
                    } ?? []
                return strain
            }
        }

        private static func difference(_ first: Pressure?, _ last: Pressure?) -> Duration {
            guard let first, let last else { return .zero }
            return max(.zero, last.someStalled - first.someStalled)
        }
    }
}
