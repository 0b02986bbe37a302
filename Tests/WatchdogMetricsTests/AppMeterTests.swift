// SPDX-License-Identifier: Apache-2.0

import Testing
import WatchdogBase
import WatchdogPolicy
import WatchdogVerdict

@testable import WatchdogMetrics

@Suite("The meter of an app")
struct AppMeterTests {
    private func instant(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test(
        "each exit has one cause",
        arguments: [
            (Outcome.Cause.exited, WatchdogBase.ExitStatus.exited(code: 0), false, AppMeter.Termination?.some(.done)),
            (.exited, .exited(code: 1), false, .exit),
            (.exited, .signaled(signal: 11, coreDumped: true), false, .crash),
            (.exited, .signaled(signal: 9, coreDumped: false), true, .memory),
            (.exited, .signaled(signal: 9, coreDumped: false), false, .crash),
            (.exited, .signaled(signal: 11, coreDumped: false), true, .crash), (.exited, .unknown, false, .unknown),
            (.terminated, .exited(code: 7), false, .request),
            (.killedOnRequest, .signaled(signal: 9, coreDumped: false), true, .request),
            (.spawnFailed, .unknown, false, nil),
        ])
    func terminations(
        _ cause: Outcome.Cause, _ status: WatchdogBase.ExitStatus, _ isMemory: Bool, _ wanted: AppMeter.Termination?
    ) {
        var meter = AppMeter()
        meter.ended(Outcome(cause: cause, status: status, isDeathVerified: true), isCausedByMemory: isMemory)
        for termination in AppMeter.Termination.allCases {
            #expect(meter.terminations(termination) == (termination == wanted ? 1 : 0), "\(termination)")
        }
    }

    @Test("a real incident counts once, by its event and its action")
    func incidents() throws {
        for isEnforced in [true, false] {
            var spec = AppSpec(name: "App")
            spec.enforcement = isEnforced ? .kill : .report
            spec.readiness = .notify
            var machine = ProcessMachine(spec: spec)
            var meter = AppMeter()
            var now = instant(100)
            func feed(_ event: ProcessEvent) {
                for effect in machine.step(event, at: now).effects {
                    if case .announce(let notice) = effect { meter.noticed(notice) }
                    if case .inspect(let id) = effect { feed(.inspected(id: id, Evidence(state: "S"))) }
                }
            }
            feed(.launchRequested)
            feed(.spawned(pid: 7))
            now = now + spec.allowances.launch + .milliseconds(1)
            feed(.deadlineReached)
            for _ in 0..<10 where !machine.isInIncident {
                now = machine.nextDeadline ?? now
                feed(.deadlineReached)
            }
            #expect(meter.launches == 1)
            #expect(meter.incidents(.processLaunch, isEnforced: isEnforced) == 1)
            #expect(meter.incidents(.processLaunch, isEnforced: !isEnforced) == 0)
            #expect(meter.incidents(.sceneUpdate, isEnforced: isEnforced) == 0)
        }
    }

    @Test("the running time includes the current run, and stops at its end")
    func runningTime() {
        var meter = AppMeter()
        #expect(meter.counted(until: instant(5)).runningTime == .zero)
        meter.run(true, at: instant(10))
        #expect(meter.counted(until: instant(17)).runningTime == .seconds(7))
        meter.run(true, at: instant(20))
        meter.run(false, at: instant(25))
        meter.run(false, at: instant(90))
        #expect(meter.counted(until: instant(100)).runningTime == .seconds(15))
    }

    @Test("a bucket includes its bound, and a duration beyond all bounds is in the last one")
    func buckets() {
        var histogram = FixedHistogram(bounds: [.milliseconds(1), .seconds(1)])
        for nanoseconds in [-5, 0, 1_000_000, 1_000_001, 1_000_000_000, 1_000_000_001] as [Int64] {
            histogram.record(.nanoseconds(nanoseconds))
        }
        #expect(histogram.buckets == [3, 2, 1])
        #expect(histogram.count == 6)
        #expect(histogram.sum == .nanoseconds(2_002_000_002))
    }

    @Test("histograms with the same durations are equal, in whatever order and sums they came", arguments: 0...3)
    func orders(count: Int) {
        let durations = [Duration.zero, .seconds(2), .milliseconds(5)].prefix(count)
        let empty = FixedHistogram(bounds: [.milliseconds(1), .seconds(1)])
        var (forward, backward, sum) = (empty, empty, empty)
        for duration in durations {
            forward.record(duration)
            var single = empty
            single.record(duration)
            sum.add(empty)
            sum.add(single)
        }
        for duration in durations.reversed() { backward.record(duration) }
        #expect(forward == backward && forward == sum)
        #expect(sum.count == count && sum.buckets.reduce(0, +) == count && sum.buckets.count == 3)
    }

    @Test("sums include everything")
    func sums() {
        var one = AppMeter()
        one.noticed(.launched(pid: 1), phases: [.mapping: .seconds(1)])
        one.launchFailed()
        one.noticed(
            .ready(.notify, after: .milliseconds(21)), phases: [.mapping: .milliseconds(10), .ready: .milliseconds(11)])
        one.measured(.ping(.seconds(1)))
        one.reported(.spinning, fault: .machine)
        one.ended(Outcome(cause: .exited, status: .exited(code: 0), isDeathVerified: true), isCausedByMemory: false)
        one.run(true, at: instant(0))
        let settled = one.counted(until: instant(3))
        var sum = settled
        sum.add(settled)
        #expect(sum.launches == 2 && sum.launchFailures == 2 && sum.pings.count == 2)
        #expect(sum.verdicts(.spinning) == 2 && sum.faults(.machine) == 2 && sum.terminations(.done) == 2)
        #expect(sum.runningTime == .seconds(6))
        #expect(sum.launchPhases.map(\.count) == [0, 2, 0, 0, 0, 0, 0, 2])
        #expect(sum.launchPhases[1].buckets.first == 2 && sum.launchPhases[7].sum == .milliseconds(22))
    }
}
